/* Delivery of signals to threads in the code cache.  The kernel builds the frame from the program's
 * own registers and addresses, which the thread is given for that moment, and the handler starts
 * translated.  The same stops serve threads that leave the cache. */
#include "tracer/target/interrupt.h"

#include "base/clock.h"
#include "tracer/process/stops.h"
#include "tracer/target/copies.h"
#include "tracer/target/cuts.h"
#include "tracer/target/entry_table.h"
#include "tracer/target/inject.h"
#include "tracer/target/namespace_init.h"
#include "tracer/target/place.h"
#include "tracer/target/requests.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/watchdog.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MAX_QUIET_NS 50000000ull
#define MAX_OWED 4096 /* signals pending at once; a bound for a loop */

/* ---- signals that wait ----
 *
 * A delivery takes longer here than natively, perhaps longer than the period of a timer.  So that
 * the program gets on, a thread runs as long as the last delivery took before it has the next
 * signal that is none of its own faults. */

static uint64_t quiet_until(struct tracee *tracee)
{
	const struct target *target = tracee->target;
	const int slot = target_slot_index(target, tracee->tid);
	uint64_t from = tracee->delivered_at;
	if (slot && target->resumed_at[slot] > from)
		from = target->resumed_at[slot];
	return from + (tracee->delivery_ns < MAX_QUIET_NS ? tracee->delivery_ns : MAX_QUIET_NS);
}

/* The thread will be stopped when the next signal may come. */
static void stop_later(struct tracee *tracee)
{
	struct target *target = tracee->target;
	const int slot = target_slot_index(target, tracee->tid);
	if (!slot)
		return;
	__atomic_store_n(&target->stop_at[slot], quiet_until(tracee), __ATOMIC_RELEASE);
	server_wake(target);
}

/* A signal that a thread sends to its own process has been delivered when the call returns. */
static bool may_wait(const struct tracee *tracee, const siginfo_t *info)
{
	return info->si_code == SI_KERNEL || info->si_code == SI_TIMER ||
	       (signal_is_sent(info) && info->si_pid && info->si_pid != tracee->tgid);
}

/* Natively all that is pending at the end of a system call comes before the program goes on.  Here
 * some comes only when the handler of another returns; what is noted now is not held back then. */
static void note_owed(struct tracee *tracee)
{
	siginfo_t infos[32];
	memset(tracee->owed, 0, sizeof(tracee->owed));
	for (uint32_t flags = 0; flags <= PTRACE_PEEKSIGINFO_SHARED; flags++) {
		struct __ptrace_peeksiginfo_args wanted = {0, flags, 32};
		long n = 32;
		while (n == 32 && wanted.off < MAX_OWED) {
			n = ptrace(PTRACE_PEEKSIGINFO, tracee->tid, &wanted, infos);
			for (long i = 0; i < n; i++)
				tracee->owed[infos[i].si_signo & 63]++;
			wanted.off += 32;
		}
	}
}

/* Whether a signal that is about to be delivered is held back instead.  One whose system call says
 * so to the program is not. */
static bool hold_back(struct tracee *tracee, int number, const siginfo_t *info)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	bool done;
	if (tracee->owed[number & 63]) {
		tracee->owed[number & 63]--;
		return false;
	}
	if (signal_is_fault(number, info) || !may_wait(tracee, info) || !tracee->delivery_ns ||
	    clock_now_ns() >= quiet_until(tracee) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0 ||
	    !target_copy_at(target, regs.rip) ||
	    (place_at_call(target, regs.rip, &done) && done && (long long)regs.rax == -EINTR) ||
	    !tracee_hold(tracee, number, info, true))
		return false;
	stop_later(tracee);
	return true;
}

/* ---- delivery ---- */

/* A fault's si_addr is the instruction's address for SIGILL, SIGFPE and SIGTRAP. */
static bool correct_address(siginfo_t *info, uint64_t cache_pc, uint64_t pc)
{
	if (!signal_is_fault(info->si_signo, info) ||
	    (uint64_t)(uintptr_t)info->si_addr != cache_pc)
		return false;
	info->si_addr = (void *)(uintptr_t)pc;
	return true;
}

/* A thread with the program's registers goes on translated, or natively if need be. */
static bool go_on_at(struct tracee *tracee, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	pthread_mutex_lock(target->lock);
	const uint64_t body =
		target_body(target, target_slot_index(target, tracee->tid), regs->rip);
	pthread_mutex_unlock(target->lock);
	if (body)
		regs->rip = body;
	else
		regs->gs_base = 0;
	target->actions_unseen |= !body;
	regs->orig_rax = (unsigned long long)-1;
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, regs) == 0;
}

/* After a delivery: the thread stands at its handler's first instruction, or, when the kernel put
 * the signal off, one instruction further in its own code; both go on translated. */
static bool go_on_translated(struct tracee *tracee)
{
	struct user_regs_struct regs;
	tracee->strays = false;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	/* that instruction can be an rt_sigreturn, whose frame has been aimed at the cache */
	return target_copy_at(tracee->target, regs.rip) || go_on_at(tracee, &regs);
}

/* One that has left the cache for more than running natively is resumed by the follower. */
static bool resume(const struct tracee *tracee, int number)
{
	return tracee->left.how != STAYS || tracee_resume(tracee, number);
}

/* The kernel could not write the frame of a signal, which is lost: it has forced a SIGSEGV, whose
 * stop this is.  That can fail once more, and then the action is the default. */
static bool deliver_forced(struct tracee *tracee, int number)
{
	siginfo_t info;
	while (tracee->forced) {
		if (ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
			return false;
		if (namespace_init_ends(tracee, SIGSEGV, &info)) {
			tracee->left = (struct leaving){.how = LEAVES_TO_END,
							.argument = SIGSEGV,
							.last_signal = number};
			return true;
		}
		if (!step_once(tracee, SIGSEGV))
			return false;
	}
	return true;
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
	if (place == PLACE_STEP) {
		if (tracee->late)
			tracee_hold(tracee, number, info, true);
		return false;
	}
	if (place == PLACE_CLEAN) {
		here = !(fault && correct_address(info, before.rip, regs.rip)) && here;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	if (!here || moved)
		ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, info);
	tracee->strays = place == PLACE_CLEAN;
	if (!step_once(tracee, number) || !deliver_forced(tracee, number))
		return false;
	tracee->notified = true;
	if (tracee->strays && tracee->left.how == STAYS)
		return go_on_translated(tracee);
	tracee->strays = false;
	return true;
}

static bool deliver_timed(struct tracee *tracee, int number, siginfo_t *info, bool here)
{
	const uint64_t start = clock_now_ns();
	const bool alive = deliver_one(tracee, number, info, here);
	tracee->delivered_at = clock_now_ns();
	tracee->delivery_ns = tracee->delivered_at - start;
	if (alive && tracee->n_held)
		stop_later(tracee);
	return alive;
}

/* Delivers the signal that has been held longest, or leaves it to the kernel: *number.  False when
 * the thread is gone. */
static bool deliver_held(struct tracee *tracee, int *number)
{
	struct held_signal next = tracee_take_held(tracee);
	const bool handled = tracee_handles(tracee, next.number);
	if (!handled && next.caught) /* natively it would have met its handler */
		return true;
	/* one that is blocked by now the kernel makes pending, wherever the thread is */
	if (handled && !signal_in_set(tracee->tid, "SigBlk", next.number))
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
	for (int n = 0; n < most && tracee->n_held && !number && tracee->left.how == STAYS; n++)
		if ((tracee->notified && !step_once(tracee, 0)) || !deliver_held(tracee, &number))
			return false;
	tracee->catches_up = most > 1 && tracee->n_held;
	if (tracee->n_held)
		stop_later(tracee);
	return resume(tracee, number);
}

/* Whether the thread may be about to leave a system call; then what is pending is noted. */
static bool note_gate(struct tracee *tracee)
{
	struct user_regs_struct regs;
	const bool gate = ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0 &&
			  target_in_gate(tracee->target, regs.rip);
	if (gate)
		note_owed(tracee);
	return gate;
}

/* How the thread wants to leave; one that wants to stay is let out of the gate. */
static enum leaving_how wish_of(struct tracee *tracee)
{
	struct target *target = tracee->target;
	enum leaving_how how = STAYS;
	pthread_mutex_lock(target->lock);
	const int index = target_slot_index(target, tracee->tid);
	if (index) {
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

/* ---- the other copy of the code (copies.h) ---- */

/* `regs`: the program's own, which the thread gets for that. */
static bool make_plain(struct target *target, pid_t tid, struct user_regs_struct *regs)
{
	struct injection injection;
	if (target->has_plain || target->plain_failed)
		return target->has_plain;
	ptrace(PTRACE_SETREGS, tid, 0, regs);
	struct rf_error *error = injection_begin_at(&injection, tid, &target->memory,
						    target_gate(target, gate_do_change));
	if (!error) {
		error = shared_memory_map_plain(target, &injection);
		injection_end(&injection);
	}
	if (!error) {
		entry_table_init(target, COPY_PLAIN);
		copies_inherit(target, COPY_PLAIN);
		copies_find_hot(target);
	}
	target->has_plain = !error;
	target->plain_failed = error != NULL; /* then all of it is traced */
	rf_error_destroy(error);
	return target->has_plain;
}

/* The thread has the program's registers and goes on in the copy that is wanted. */
static bool go_on_in(struct tracee *tracee, int slot, enum copy copy, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	if (copy == COPY_PLAIN && !make_plain(target, tracee->tid, regs))
		copy = target->slot_of[slot].copy;
	pthread_mutex_lock(target->lock);
	if (copy != target->slot_of[slot].copy)
		copies_change(target, slot, copy);
	cuts_here(target, slot);
	pthread_mutex_unlock(target->lock);
	return go_on_at(tracee, regs);
}

/* The copy that the slot's thread is to run. */
static enum copy wanted_copy(struct target *target, int slot)
{
	const enum copy now = target->slot_of[slot].copy;
	if (target->native)
		return now;
	const enum copy wanted = copies_wanted(target, clock_now_ns());
	return wanted == COPY_PLAIN && target->plain_failed ? now : wanted;
}

/* Amid a call it changes at the gate behind it. */
static bool change_copy(struct tracee *tracee, bool amid_call)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	bool moved, alive = true;
	const int slot = target_slot_index(target, tracee->tid);
	if (!slot)
		return true;
	pthread_mutex_lock(target->lock);
	const enum copy wanted = wanted_copy(target, slot);
	const bool stays = wanted == target->slot_of[slot].copy && !cuts_is_due(target, slot);
	target->slot_of[slot].cut_in_call = false;
	*slot_u32(slot_at(target, slot), G_SWITCH) = !stays;
	pthread_mutex_unlock(target->lock);
	if (!stays && !amid_call && ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0) {
		const enum place place = step_to_program(tracee, &regs, false, &moved);
		alive = place != PLACE_STEP;
		if (place == PLACE_CLEAN && tracee->left.how == STAYS)
			alive = go_on_in(tracee, slot, wanted, &regs);
	}
	pthread_mutex_lock(target->lock);
	copies_answered(target, slot);
	pthread_mutex_unlock(target->lock);
	return alive;
}

/* ---- stops of ours ---- */

/* The stop that stop_later, a request that ends counting or the gate behind a system call asked
 * for. */
static bool attend(struct tracee *tracee)
{
	struct user_regs_struct regs;
	bool moved;
	const enum leaving_how how = wish_of(tracee);
	const bool gate = note_gate(tracee);
	const bool amid_call = place_run_again(tracee);
	if (how != STAYS && how != ATTENDED &&
	    step_to_program(tracee, &regs, false, &moved) == PLACE_STEP)
		return false;
	if ((how == STAYS || how == ATTENDED) && !change_copy(tracee, amid_call))
		return false;
	return deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 1);
}

/* ---- faults of ours ---- */

/* Translated calls and returns need a word below the stack pointer; the program's own do not. */
static bool mend_transfer(struct tracee *tracee, int number)
{
	struct user_regs_struct regs;
	return place_behind_transfer(tracee, number, &regs) && go_on_at(tracee, &regs);
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

/* A fault that the program has no part in but that it wrote over what the gate needs. */
static bool ends_overwritten(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0 || !regs.gs_base)
		return false; /* it runs natively */
	pthread_mutex_lock(target->lock);
	const bool overwritten = watchdog_explains_fault(target, tracee->tid, regs.rip);
	if (overwritten)
		watchdog_end(target);
	pthread_mutex_unlock(target->lock);
	return overwritten;
}

bool interrupt_deliver(struct tracee *tracee, int number)
{
	siginfo_t info;
	tracee->notified = false;
	if (ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
		return tracee_resume(tracee, number);
	if (tracee->target && target_sent_stop(&info))
		return attend(tracee);
	if (tracee->target && signal_is_fault(number, &info) &&
	    (step_mend_peek(tracee, number) || mend_transfer(tracee, number)))
		return resume(tracee, 0);
	if (tracee->target && signal_is_fault(number, &info) && ends_overwritten(tracee))
		return false; /* it was killed */
	if (namespace_init_ends(tracee, number, &info))
		return namespace_init_leave(tracee, number);
	if (!tracee->target)
		return tracee_resume(tracee, number);
	if (!tracee_handles(tracee, number)) {
		/* of those that are ignored only who is traced is told */
		if (tracee_ignores(tracee, number))
			(void)place_run_again(tracee);
		return tracee_resume(tracee, number);
	}
	if (hold_back(tracee, number, &info))
		return resume(tracee, 0);
	note_trap_flag(tracee, &info);
	const bool gate = note_gate(tracee);
	return deliver_timed(tracee, number, &info, true) &&
	       deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 0);
}

/* Whether it stands behind a system call instruction. */
static bool is_behind_call(pid_t tid)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return false;
	errno = 0;
	const long word = ptrace(PTRACE_PEEKTEXT, tid, regs.rip - 2, 0);
	return !errno && (word & 0xffff) == 0x050f;
}

/* Whether it has stopped because it was stepped, which comes with another code behind a system call
 * (user_single_step_report in the kernel's ptrace.c), as the program's int1 would, or by the
 * kernel's word that a signal has been delivered (ptrace_notify in its signal.c). */
static bool is_stop_of_step(const struct tracee *tracee, int status)
{
	siginfo_t info;
	return !(status >> 16) && WSTOPSIG(status) == SIGTRAP &&
	       ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
	       (info.si_code == TRAP_TRACE || info.si_code == SIGTRAP ||
		(info.si_code == TRAP_BRKPT && is_behind_call(tracee->tid)));
}

/* Whether it stands amid its code: neither at its end nor at the beginning of another program. */
static bool is_at_code(int status)
{
	return !(status >> 16) || status >> 16 == PTRACE_EVENT_STOP;
}

/* One that strays does so no longer, whatever it has stopped for: it would run natively from there
 * on, and nobody would count it. */
bool interrupt_late(struct tracee *tracee, int status)
{
	assert(tracee->late);
	tracee->late = false;
	if (tracee->masked)
		inject_set_signals(tracee->tid, tracee->mask);
	tracee->masked = false;
	const bool behind_record = place_leave_trap(tracee);
	if (tracee->strays && tracee->target && is_at_code(status))
		go_on_translated(tracee);
	tracee->strays = false;
	if (!behind_record && !is_stop_of_step(tracee, status))
		return false;
	if (tracee->target && tracee->n_held)
		stop_later(tracee);
	tracee_resume(tracee, 0);
	return true;
}

/* ---- letting go ---- */

/* A stop of ours that is still on its way would stop the thread for good: nobody waits for it.
 * Where a SIGCONT takes it away meanwhile the thread stops for the interruption. */
static bool await_stop(struct tracee *tracee)
{
	int status;
	siginfo_t info;
	while (signal_in_set(tracee->tid, "SigPnd", SIGSTOP)) {
		ptrace(PTRACE_CONT, tracee->tid, 0, 0);
		ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0);
		const enum awaited awaited = stops_await(tracee->tid, STEP_LIMIT_NS, &status);
		tracee->late = awaited == AWAITED_LATE;
		tracee->exits = awaited == AWAITED_STOP && status >> 16 == PTRACE_EVENT_EXIT;
		if (awaited != AWAITED_STOP || tracee->exits)
			return false;
		if (!(status >> 16) && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
		    !target_sent_stop(&info))
			tracee_hold(tracee, WSTOPSIG(status), &info, false);
	}
	return true;
}

bool interrupt_detach(struct tracee *tracee, int number)
{
	if (!await_stop(tracee))
		return false;
	tracee_give_back(tracee);
	return ptrace(PTRACE_DETACH, tracee->tid, 0, number) == 0;
}

bool interrupt_release(struct tracee *tracee, int status)
{
	struct user_regs_struct regs;
	siginfo_t info;
	bool moved;
	int number = status >> 16 ? 0 : WSTOPSIG(status);
	if (number && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
	    target_sent_stop(&info))
		number = 0;
	const enum place place =
		tracee->target ? step_to_program(tracee, &regs, false, &moved) : PLACE_NATIVE;
	if (place == PLACE_STEP) {
		if (tracee->late && number)
			tracee_hold(tracee, number, &info, false);
		return false;
	}
	if (place == PLACE_CLEAN) {
		regs.gs_base = 0;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	return interrupt_detach(tracee, number);
}
