/* Delivery of signals to threads in the code cache.  The kernel builds the frame from the program's
 * own registers and addresses, which the thread is given for that moment, and the handler starts
 * translated.  The same stops serve threads that leave the cache. */
#include "tracer/target/interrupt.h"

#include "base/clock.h"
#include "insn/decode.h"
#include "tracer/target/handlers.h"
#include "tracer/target/pace.h"
#include "tracer/target/place.h"
#include "tracer/target/step.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

/* A fault's si_addr is the instruction's address for SIGILL, SIGFPE and SIGTRAP. */
static bool correct_address(siginfo_t *info, uint64_t cache_pc, uint64_t pc)
{
	if (!signal_is_fault(info->si_signo, info) ||
	    (uint64_t)(uintptr_t)info->si_addr != cache_pc)
		return false;
	info->si_addr = (void *)(uintptr_t)pc;
	return true;
}

/* The cache address of the program's code at pc; 0 when it must run natively. */
static uint64_t body_of(struct target *target, uint64_t pc)
{
	const char *why = NULL;
	pthread_mutex_lock(target->lock);
	uint64_t body = target->native ? 0 : translate_body(&target->translator, pc, &why);
	if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
	pthread_mutex_unlock(target->lock);
	return body;
}

/* A thread with the program's registers goes on translated, or natively if need be. */
static bool go_on_at(struct tracee *tracee, struct user_regs_struct *regs)
{
	const uint64_t body = body_of(tracee->target, regs->rip);
	if (body)
		regs->rip = body;
	else
		regs->gs_base = 0;
	tracee->target->actions_unseen |= !body;
	regs->orig_rax = (unsigned long long)-1;
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, regs) == 0;
}

/* After a delivery: the thread stands at its handler's first instruction, or, when the kernel put
 * the signal off, one instruction further in its own code; both go on translated. */
static bool go_on_translated(struct tracee *tracee)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	/* that instruction can be an rt_sigreturn, whose frame has been aimed at the cache */
	return code_cache_arena_at(&tracee->target->translator.cache, regs.rip) ||
	       go_on_at(tracee, &regs);
}

/* One that has left the cache for more than running natively is resumed by the follower. */
static bool resume(const struct tracee *tracee, int number)
{
	return tracee->left.how != STAYS || ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
}

/* `here`: the thread is stopped by this very signal. */
static bool deliver_one(struct tracee *tracee, int number, siginfo_t *info, bool here)
{
	struct user_regs_struct before, regs;
	const bool fault = signal_is_fault(number, info);
	bool moved;
	if (fault && ptrace(PTRACE_GETREGS, tracee->tid, 0, &before) < 0)
		return false;
	const enum place place = step_to_program(tracee, &regs, fault, &moved);
	if (place == PLACE_STEP)
		return false;
	if (place == PLACE_CLEAN) {
		here = !(fault && correct_address(info, before.rip, regs.rip)) && here;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	if (!here || moved)
		ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, info);
	if (!step_once(tracee, number))
		return false;
	tracee->notified = true;
	return place == PLACE_NATIVE || go_on_translated(tracee);
}

static bool deliver_timed(struct tracee *tracee, int number, siginfo_t *info, bool here)
{
	const uint64_t start = clock_now_ns();
	const bool alive = deliver_one(tracee, number, info, here);
	tracee->delivered_at = clock_now_ns();
	tracee->delivery_ns = tracee->delivered_at - start;
	if (alive && tracee->n_held)
		pace_stop_later(tracee);
	return alive;
}

/* Delivers the signal that has been held longest, or leaves it to the kernel: *number.  False when
 * the thread is gone. */
static bool deliver_held(struct tracee *tracee, int *number)
{
	struct held_signal next = tracee_take_held(tracee);
	const bool handled = handlers_has(tracee, next.number);
	if (!handled && next.caught) /* natively it would have met its handler */
		return true;
	/* one that is blocked by now the kernel makes pending, wherever the thread is */
	if (handled && !handlers_in_set(tracee->tid, "SigBlk", next.number))
		return deliver_timed(tracee, next.number, &next.info, false);
	*number = next.number;
	tracee->owed[next.number & 63]++;
	ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, &next.info);
	return true;
}

/* The thread goes on with what is held: the oldest, or all, one behind the other as far as they let
 * each other. */
static bool deliver_and_resume(struct tracee *tracee, int most)
{
	int number = 0;
	for (int n = 0; n < most && tracee->n_held && !number; n++)
		if ((tracee->notified && !step_once(tracee, 0)) || !deliver_held(tracee, &number))
			return false;
	tracee->catches_up = most > 1 && tracee->n_held;
	if (tracee->n_held)
		pace_stop_later(tracee);
	return resume(tracee, number);
}

/* Whether the thread may be about to leave a system call. */
static bool is_in_gate(const struct tracee *tracee)
{
	struct user_regs_struct regs;
	return ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0 &&
	       target_in_gate(tracee->target, regs.rip);
}

/* How the thread wants to leave; one that wants to stay is let out of the gate. */
static enum leaving_how wish_of(struct tracee *tracee)
{
	struct target *target = tracee->target;
	enum leaving_how how = STAYS;
	pthread_mutex_lock(target->lock);
	const uint8_t *slot = target_slot(target, tracee->tid);
	if (slot) {
		const int index = slot_number(target, slot);
		__atomic_store_n(&target->stop_at[index], 0, __ATOMIC_RELEASE);
		how = target->leaving[index].how;
		if (how == ATTENDED) {
			target->leaving[index].how = STAYS;
			target_set_state(target, index, STATE_DONE);
		}
	}
	pthread_mutex_unlock(target->lock);
	return how;
}

/* The stop that stop_later, a request that ends counting or the gate behind a system call asked
 * for. */
static bool attend(struct tracee *tracee)
{
	struct user_regs_struct regs;
	bool moved;
	const bool gate = is_in_gate(tracee);
	const enum leaving_how how = wish_of(tracee);
	if (gate)
		pace_note_owed(tracee);
	if (how != STAYS && how != ATTENDED &&
	    step_to_program(tracee, &regs, false, &moved) == PLACE_STEP)
		return false;
	return deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 1);
}

/* ---- faults of ours ---- */

/* Where the transfer would go whose last part faulted, with the program's registers behind it.
 * False: it is none, or the program's own would fault as well. */
static bool behind_transfer(const struct target *target, uint8_t *slot, const struct piece *piece,
			    struct user_regs_struct *regs)
{
	const struct code_block *block = &target->translator.cache.blocks[piece->block];
	struct decoded insn;
	uint64_t pc;
	switch ((enum piece_kind)piece->kind) {
	case PIECE_RETURN:
		if (!target_read(target, regs->rsp, &pc, sizeof(pc)))
			return false;
		regs->rdi = *slot_u64(slot, G_SPILL_RDI);
		regs->rsp += 8;
		break;
	case PIECE_CALL:
		decode_instruction(block->bytes + piece->orig, block->size - piece->orig,
				   block->pc + piece->orig, &insn);
		pc = insn.target;
		break;
	case PIECE_CALL_INDIRECT:
		pc = regs->rcx;
		regs->rcx = *slot_u64(slot, G_SPILL_RCX);
		regs->rax = *slot_u64(slot, G_SPILL_RAX);
		break;
	default:
		return false;
	}
	regs->rip = pc;
	return true;
}

/* Translated calls and returns need a word below the stack pointer; the program's own do not. */
static bool mend_transfer(struct tracee *tracee, int number)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if ((number != SIGSEGV && number != SIGBUS) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	const struct piece *piece = code_cache_piece(&target->translator.cache, regs.rip);
	const bool ours = slot && piece && piece->block != NO_BLOCK &&
			  !target_in_gate(target, regs.rip) &&
			  behind_transfer(target, slot, piece, &regs);
	pthread_mutex_unlock(target->lock);
	return ours && go_on_at(tracee, &regs);
}

/* The program traps itself step by step, and would be trapped in code of ours. */
static void note_trap_flag(struct tracee *tracee, const siginfo_t *info)
{
	struct target *target = tracee->target;
	if (info->si_signo != SIGTRAP || info->si_code != TRAP_TRACE)
		return;
	pthread_mutex_lock(target->lock);
	target_give_up(target, "the program sets its trap flag");
	pthread_mutex_unlock(target->lock);
}

bool interrupt_deliver(struct tracee *tracee, int number)
{
	siginfo_t info;
	tracee->notified = false;
	if (!tracee->target || ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
		return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
	if (target_sent_stop(&info))
		return attend(tracee);
	if (signal_is_fault(number, &info) &&
	    (step_mend_peek(tracee, number) || mend_transfer(tracee, number)))
		return resume(tracee, 0);
	if (!handlers_has(tracee, number))
		return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
	if (pace_holds_back(tracee, number, &info))
		return resume(tracee, 0);
	note_trap_flag(tracee, &info);
	const bool gate = is_in_gate(tracee);
	if (gate)
		pace_note_owed(tracee);
	return deliver_timed(tracee, number, &info, true) &&
	       deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 0);
}

/* ---- letting go ---- */

/* A stop of ours that is still on its way would stop the thread for good: nobody waits for it. */
static void await_stop(struct tracee *tracee)
{
	int status;
	siginfo_t info;
	while (handlers_in_set(tracee->tid, "SigPnd", SIGSTOP) &&
	       ptrace(PTRACE_CONT, tracee->tid, 0, 0) == 0 &&
	       waitpid(tracee->tid, &status, __WALL) == tracee->tid && WIFSTOPPED(status))
		if (!(status >> 16) && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
		    !target_sent_stop(&info))
			tracee_hold(tracee, WSTOPSIG(status), &info, false);
}

void interrupt_detach(struct tracee *tracee, int number)
{
	await_stop(tracee);
	tracee_give_back(tracee);
	ptrace(PTRACE_DETACH, tracee->tid, 0, number);
}

void interrupt_release(struct tracee *tracee)
{
	struct user_regs_struct regs;
	siginfo_t info;
	bool moved;
	int status;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) < 0 ||
	    waitpid(tracee->tid, &status, __WALL) != tracee->tid || !WIFSTOPPED(status))
		return;
	int number = status >> 16 ? 0 : WSTOPSIG(status);
	if (number && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
	    target_sent_stop(&info))
		number = 0;
	if (tracee->target && step_to_program(tracee, &regs, false, &moved) == PLACE_CLEAN) {
		regs.gs_base = 0;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	interrupt_detach(tracee, number);
}
