/* The threads under ptrace, and the signals that are held for each. */
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
	bool exits;            /* PTRACE_EVENT_EXIT was seen while it was stepped */
	bool late;             /* a step was not waited for to its end: its stop comes later */
	bool masked;           /* all its signals are blocked until then */
	uint64_t mask;         /* and these are the program's */
	bool strays;           /* it has the program's registers, for one step that delivers a
				  signal, and goes on translated behind it */
	int faulted;           /* signal, while it was stepped: it gets no further */
	bool forced;           /* it stands at the SIGSEGV of a frame that failed */
	bool stopped_early;    /* its first stop came before its parent's event */
	struct held_signal held[MAX_HELD]; /* to be delivered later (interrupt.c, place.c) */
	int n_held;
	bool notified;         /* its stop is one from which the kernel delivers no signal */
	bool catches_up;       /* all that is held is to come, one behind the other */
	uint16_t owed[64];     /* by number: pending behind a system call, comes without delay */
	uint64_t delivered_at; /* ns: when its last signal had been delivered */
	uint64_t delivery_ns;  /* how long that took */
	bool traces;           /* it traces others: its system calls are looked at */
	enum { UNKNOWN, NO, YES } first_of_namespace; /* namespace_init.h */
	uint64_t again_ns;   /* when the call that is run again was for the first time */
	struct leaving left; /* how it has left the cache, if something is to be done about it */
};

struct tracees {
	struct tracee *items; /* pointers are valid until the next add */
	size_t n_items, cap_items;
};

/* NULL: there is none with that number. */
struct tracee *tracees_find(struct tracees *tracees, pid_t tid);
/* A new one if there is none; NULL: memory is short. */
struct tracee *tracees_add(struct tracees *tracees, pid_t tid);
void tracees_remove(struct tracees *tracees, pid_t tid);

/* Lets a stopped tracee go on, with signal `number` if not 0. */
bool tracee_resume(const struct tracee *tracee, int number);

/* Holds a signal for a tracee; `caught`: it has a handler now.  A standard signal that is held
 * already is not held twice.  False when there is no room. */
bool tracee_hold(struct tracee *tracee, int number, const siginfo_t *info, bool caught);
/* Takes the one that has been held longest; there is one. */
struct held_signal tracee_take_held(struct tracee *tracee);
/* All that are held go back to the tracee's process. */
void tracee_give_back(struct tracee *tracee);

/* Whether the thread's own instruction has raised the signal. */
bool signal_is_fault(int number, const siginfo_t *info);
/* Whether kill or sigqueue has sent it.  When another process has, it must be there before whatever
 * that process does next is seen. */
bool signal_is_sent(const siginfo_t *info);

/* Whether the program has a handler for that signal. */
bool tracee_handles(struct tracee *tracee, int number);
/* Whether the program ignores that signal, for which it has no handler, so that natively nobody
 * would see it. */
bool tracee_ignores(const struct tracee *tracee, int number);
/* Whether a signal is in a set of the kernel's ("SigBlk", "SigPnd", "SigCgt" of
 * /proc/PID/status).  What is read there is what holds now: ptrace would show the mask that a
 * sigsuspend is to restore. */
bool signal_in_set(pid_t tid, const char *name, int number);
