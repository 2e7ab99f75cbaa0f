/* The list of threads under ptrace, and for each a queue of signals that are delivered later. */
#include "tracer/target/tracees.h"

#include "base/array.h"

#include <string.h>

struct tracee *tracees_find(struct tracees *tracees, pid_t tid)
{
	for (size_t i = 0; i < tracees->n_items; i++)
		if (tracees->items[i].tid == tid)
			return &tracees->items[i];
	return NULL;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid)
{
	struct tracee new = {.tid = tid, .tgid = tid};
	if (!rf_array_push(tracees->items, tracees->n_items, tracees->cap_items, new))
		return NULL;
	return &tracees->items[tracees->n_items - 1];
}

void tracees_remove(struct tracees *tracees, pid_t tid)
{
	struct tracee *tracee = tracees_find(tracees, tid);
	if (tracee)
		*tracee = tracees->items[--tracees->n_items];
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
		if (tracee->held[i].number == number && number < SIGRTMIN)
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
