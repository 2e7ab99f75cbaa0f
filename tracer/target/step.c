/* Stepping a stopped thread, instruction by instruction, out of code of ours to the next point
 * where all its registers are the program's own. */
#include "tracer/target/step.h"

#include "tracer/target/inject.h"
#include "tracer/target/requests.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#define MAX_STEPS 40000      /* far more than any sequence of ours is long */
#define STATUS_BITS 0x8d5ull /* OF, SF, ZF, AF, PF, CF in rflags */

bool step_mend_peek(struct tracee *tracee, int number)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (!target || (number != SIGSEGV && number != SIGBUS) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0 ||
	    (regs.rip != target_gate(target, gate_peek_clone) &&
	     regs.rip != target_gate(target, gate_peek_path)))
		return false;
	regs.rip = target_gate(target, gate_do_syscall);
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs) == 0;
}

static void on_signal_amid_step(struct tracee *tracee, int number)
{
	siginfo_t info;
	if (step_mend_peek(tracee, number) ||
	    ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0 || target_sent_stop(&info))
		return;
	if (number == SIGSTOP)
		kill(tracee->tid, SIGSTOP);
	else if (signal_is_fault(number, &info)) /* it will come again */
		tracee->faulted = true;
	else
		tracee_hold(tracee, number, &info, false);
}

bool step_once(struct tracee *tracee, int number)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, tracee->tid, 0, number) < 0)
		return false;
	if (waitpid(tracee->tid, &status, __WALL) != tracee->tid)
		return false;
	if (!WIFSTOPPED(status)) {
		tracee->gone = true;
		tracee->gone_status = status;
		return false;
	}
	if (status >> 16 == PTRACE_EVENT_EXIT)
		place_flush(tracee->target, tracee->tid);
	tracee->notified = false;
	if (WSTOPSIG(status) != SIGTRAP && !(status >> 16))
		on_signal_amid_step(tracee, WSTOPSIG(status));
	return true;
}

/* Answers the request that the thread waits for and gives it the registers with which the gate
 * would have gone on.  False when there is no answer yet. */
static bool finish_request(struct tracee *tracee, uint8_t *slot, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	const int index = slot_number(target, slot);
	struct leaving *leaving = &target->leaving[index];
	if (!requests_decide(target, index))
		return false;
	target_set_state(target, index, STATE_IDLE);
	regs->rax = *slot_u64(slot, SAVE_RAX);
	regs->rcx = *slot_u64(slot, SAVE_RCX);
	regs->rdx = *slot_u64(slot, SAVE_RDX);
	regs->rsi = *slot_u64(slot, SAVE_RSI);
	regs->rdi = *slot_u64(slot, SAVE_RDI);
	regs->r8 = *slot_u64(slot, SAVE_R8);
	regs->r9 = *slot_u64(slot, SAVE_R9);
	regs->r10 = *slot_u64(slot, SAVE_R10);
	regs->r11 = *slot_u64(slot, SAVE_R11);
	regs->rsp = *slot_u64(slot, SAVE_RSP);
	const uint64_t saved = *slot_u64(slot, SAVE_FLAGS);
	regs->eflags = (regs->eflags & ~STATUS_BITS) | (saved >> 8 & 0xd5) | (saved & 1) << 11;
	regs->rip = *slot_u64(slot, G_JUMP);
	regs->orig_rax = (unsigned long long)-1;
	if (leaving->how == STAYS)
		return true;
	regs->rip = leaving->pc; /* it stands at the program's own address, or behind its call */
	if (leaving->how != ATTENDED)
		regs->gs_base = 0;
	if (leaving->how != LEAVES && leaving->how != ATTENDED)
		tracee->left = *leaving;
	*leaving = (struct leaving){.how = STAYS};
	return true;
}

static enum place place_now(struct tracee *tracee, struct user_regs_struct *regs, bool fault)
{
	struct target *target = tracee->target;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	enum place place = slot ? place_of(tracee->target, slot, regs, fault) : PLACE_NATIVE;
	if (place == PLACE_WAIT && !finish_request(tracee, slot, regs))
		place = PLACE_STEP;
	pthread_mutex_unlock(target->lock);
	return place;
}

/* Signals that come meanwhile stay in the kernel, where they are as they would be natively.  In
 * code of ours the thread is in no system call that has put another mask in place. */
enum place step_to_program(struct tracee *tracee, struct user_regs_struct *regs, bool fault,
			   bool *moved)
{
	enum place place = PLACE_STEP;
	uint64_t mask;
	bool masked = false, alive = true;
	*moved = tracee->faulted = false;
	for (int steps = 0; alive && !tracee->faulted && steps < MAX_STEPS; steps++) {
		if (ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) < 0)
			return PLACE_STEP;
		place = place_now(tracee, regs, fault);
		if (place == PLACE_WAIT) {
			ptrace(PTRACE_SETREGS, tracee->tid, 0, regs);
		} else if (place != PLACE_STEP) {
			break;
		} else {
			masked = masked || inject_block_signals(tracee->tid, &mask);
			*moved = true;
			alive = step_once(tracee, 0);
		}
		fault = false;
	}
	if (masked && alive)
		inject_set_signals(tracee->tid, mask);
	return alive && place == PLACE_STEP ? PLACE_NATIVE : place;
}
