/* Which signals of a process have a handler of the program's own. */
#include "tracer/target/handlers.h"

#include "tracer/perf/small_file.h"

#include <stdlib.h>

/* A set of signals from /proc/PID/status; bit n - 1: signal n. */
static uint64_t read_set(pid_t tid, const char *name)
{
	char value[64];
	return small_file_status(tid, name, value, sizeof(value)) ? strtoull(value, NULL, 16) : 0;
}

bool handlers_in_set(pid_t tid, const char *name, int number)
{
	return read_set(tid, name) >> (number - 1) & 1;
}

/* How many calls of rt_sigaction there were.  False when one runs just now, or may run unseen. */
static bool count_actions(const struct target *target, uint64_t *n)
{
	*n = 0;
	for (int i = 1; i < target->n_slots; i++) {
		uint8_t *slot = slot_at(target, i);
		if (target->slot_of[i].tid &&
		    __atomic_load_n(slot_u32(slot, G_ACTING), __ATOMIC_SEQ_CST))
			return false;
		*n += __atomic_load_n(slot_u32(slot, G_ACTIONS), __ATOMIC_SEQ_CST);
	}
	return !target->actions_unseen;
}

/* Reading costs more than delivering does, so it is done again only after another rt_sigaction, and
 * after the first delivery of each signal, which can have taken its handler away (SA_RESETHAND). */
bool handlers_has(struct tracee *tracee, int number)
{
	struct caught_signals *known = &tracee->target->caught;
	const uint64_t bit = 1ull << (number - 1);
	uint64_t n;
	if (!count_actions(tracee->target, &n)) {
		known->known = false;
		return handlers_in_set(tracee->tid, "SigCgt", number);
	}
	if (!known->known || known->actions != n)
		*known = (struct caught_signals){true, n, read_set(tracee->tid, "SigCgt"), 0, 0};
	if (known->delivered & bit && !(known->kept & bit)) {
		known->caught = read_set(tracee->tid, "SigCgt");
		known->kept |= known->caught & bit;
	}
	known->delivered |= known->caught & bit;
	return known->caught & bit;
}
