/* The threads under ptrace. */
#pragma once

#include "tracer/target/target.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct held_signal {
	int number;
	siginfo_t info;
	bool caught; /* it had a handler when it came */
};

#define MAX_HELD 16

struct tracee {
	pid_t tid, tgid;
	struct target *target; /* NULL: runs natively */
	bool started;          /* its first stop has been dealt with */
	bool gone;             /* its end was seen while it was stepped */
	int gone_status;
	bool faulted;                      /* while it was stepped: it gets no further */
	bool stopped_early;                /* its first stop came before its parent's event */
	struct held_signal held[MAX_HELD]; /* to be delivered later (interrupt.c) */
	int n_held;
	bool notified;   /* its stop is one from which the kernel delivers no signal */
	bool catches_up; /* all that is held is to come, one behind the other */
	uint16_t
		owed[64]; /* by number: what was pending behind a system call comes without delay */
	uint64_t delivered_at,
		delivery_ns; /* when the last signal had been delivered; how long it took */
	struct leaving left; /* how it has left the cache, if something is to be done about it */
};

struct tracees {
	struct tracee *items; /* pointers are valid until the next add */
	size_t n_items, cap_items;
};

struct tracee *tracees_find(struct tracees *tracees, pid_t tid);
struct tracee *tracees_add(struct tracees *tracees, pid_t tid);
void tracees_remove(struct tracees *tracees, pid_t tid);
