/* Keeping the program going under many signals.
 *
 * A delivery takes longer here than natively, perhaps longer than the period of a timer.  So that
 * the program gets on, a thread runs as long as the last delivery took before it has the next
 * signal that is none of its own faults. */
#include "tracer/target/pace.h"

#include "base/clock.h"
#include "tracer/target/place.h"
#include "tracer/target/server.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#define MAX_QUIET_NS 50000000ull
#define MAX_OWED 4096 /* signals pending at once; a bound for a loop */

static uint64_t quiet_until(struct tracee *tracee)
{
	struct target *target = tracee->target;
	const uint8_t *slot = target_slot(target, tracee->tid);
	uint64_t from = tracee->delivered_at;
	if (slot && target->resumed_at[slot_number(target, slot)] > from)
		from = target->resumed_at[slot_number(target, slot)];
	return from + (tracee->delivery_ns < MAX_QUIET_NS ? tracee->delivery_ns : MAX_QUIET_NS);
}

void pace_stop_later(struct tracee *tracee)
{
	struct target *target = tracee->target;
	const uint8_t *slot = target_slot(target, tracee->tid);
	if (!slot)
		return;
	__atomic_store_n(&target->stop_at[slot_number(target, slot)], quiet_until(tracee),
			 __ATOMIC_RELEASE);
	server_wake(target);
}

/* A signal that a thread sends to its own process has been delivered when the call returns. */
static bool may_wait(const struct tracee *tracee, const siginfo_t *info)
{
	return info->si_code == SI_KERNEL || info->si_code == SI_TIMER ||
	       (signal_is_sent(info) && info->si_pid && info->si_pid != tracee->tgid);
}

void pace_note_owed(struct tracee *tracee)
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

/* Whether a signal is held back.  One whose system call says so to the program is not. */
bool pace_holds_back(struct tracee *tracee, int number, const siginfo_t *info)
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
	    !code_cache_arena_at(&target->translator.cache, regs.rip) ||
	    (place_at_call(target, regs.rip, &done) && done && (long long)regs.rax == -EINTR) ||
	    !tracee_hold(tracee, number, info, true))
		return false;
	pace_stop_later(tracee);
	return true;
}
