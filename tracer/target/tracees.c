/* The list of threads under ptrace, which signals have a handler of the program's own, and for each
 * thread a queue of signals that are delivered later. */
#include "tracer/target/tracees.h"

#include "base/array.h"
#include "base/raw_signal.h"
#include "base/small_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

struct tracee *tracees_find(struct tracees *tracees, pid_t tid)
{
	for (size_t i = 0; i < tracees->n_items; i++)
		if (tracees->items[i].tid == tid)
			return &tracees->items[i];
	return NULL;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid)
{
	const struct tracee new = {.tid = tid, .tgid = tid};
	if (!tracees_find(tracees, tid))
		(void)rf_array_push(tracees->items, tracees->n_items, tracees->cap_items, new);
	return tracees_find(tracees, tid);
}

void tracees_remove(struct tracees *tracees, pid_t tid)
{
	struct tracee *tracee = tracees_find(tracees, tid);
	if (tracee)
		*tracee = tracees->items[--tracees->n_items];
}

bool tracee_resume(const struct tracee *tracee, int number)
{
	const int request = tracee->traces ? PTRACE_SYSCALL : PTRACE_CONT;
	return ptrace(request, tracee->tid, 0, number) == 0;
}

bool signal_is_sent(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE;
}

bool signal_is_fault(int number, const siginfo_t *info)
{
	return info->si_code > 0 && (number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
				     number == SIGILL || number == SIGTRAP);
}

/* ---- handlers ---- */

/* signal(7); bit n - 1: signal n */
#define IGNORED_BY_DEFAULT                                                      \
	(1ull << (SIGCHLD - 1) | 1ull << (SIGCONT - 1) | 1ull << (SIGURG - 1) | \
	 1ull << (SIGWINCH - 1))

/* A set of signals from /proc/PID/status; bit n - 1: signal n. */
static uint64_t read_set(pid_t tid, const char *name)
{
	char value[64];
	return small_file_status(tid, name, value, sizeof(value)) ? strtoull(value, NULL, 16) : 0;
}

bool signal_in_set(pid_t tid, const char *name, int number)
{
	return read_set(tid, name) >> (number - 1) & 1;
}

bool tracee_ignores(const struct tracee *tracee, int number)
{
	const uint64_t bit = 1ull << (number - 1);
	return IGNORED_BY_DEFAULT & bit || read_set(tracee->tid, "SigIgn") & bit;
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
bool tracee_handles(struct tracee *tracee, int number)
{
	struct caught_signals *known = &tracee->target->caught;
	const uint64_t bit = 1ull << (number - 1);
	uint64_t n;
	if (!count_actions(tracee->target, &n)) {
		known->known = false;
		return signal_in_set(tracee->tid, "SigCgt", number);
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

/* ---- held signals ---- */

/* Tells the gate what is held, so that it does not go on behind a system call. */
static void show_held(const struct tracee *tracee)
{
	uint8_t *slot = tracee->target ? target_slot(tracee->target, tracee->tid) : NULL;
	bool sent = false;
	if (!slot)
		return;
	for (int i = 0; i < tracee->n_held; i++)
		sent |= signal_is_sent(&tracee->held[i].info);
	*slot_u32(slot, G_HELD) = tracee->n_held > 0;
	*slot_u32(slot, G_HELD_SENT) = sent;
}

bool tracee_hold(struct tracee *tracee, int number, const siginfo_t *info, bool caught)
{
	for (int i = 0; i < tracee->n_held; i++)
		if (tracee->held[i].number == number && number < RAW_RTMIN)
			return true;
	if (tracee->n_held == MAX_HELD)
		return false;
	tracee->held[tracee->n_held++] = (struct held_signal){number, *info, caught};
	show_held(tracee);
	return true;
}

struct held_signal tracee_take_held(struct tracee *tracee)
{
	assert(tracee->n_held > 0);
	const struct held_signal first = tracee->held[0];
	memmove(tracee->held, tracee->held + 1, (size_t)--tracee->n_held * sizeof(tracee->held[0]));
	show_held(tracee);
	return first;
}

void tracee_give_back(struct tracee *tracee)
{
	for (int i = 0; i < tracee->n_held; i++)
		if (tracee->held[i].info.si_code != SI_TKILL)
			kill(tracee->tgid, tracee->held[i].number);
	tracee->n_held = 0;
	show_held(tracee);
}
