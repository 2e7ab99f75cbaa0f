/* New threads and processes of a counted run. */
#pragma once

#include "tracer/target/images.h"

/* Of a child of vfork, which may ask to be traced before its exec, the system calls are watched: it
 * stops with this number. */
#define WATCHED_STOP (SIGTRAP | 0x80)

/* What is traced of each process that is followed: PTRACE_O_…. */
#define FOLLOWED_OPTIONS                                                                      \
	(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)

/* The tracee `tid` is stopped by PTRACE_EVENT_CLONE, _FORK or _VFORK: it has a new child. */
void births_on_event(struct counted_run *run, pid_t tid, int event);
/* The first stop of a new tracee. */
void births_on_first_stop(struct counted_run *run, pid_t tid);
/* Whether a child of that image's process has still to come to its first stop. */
bool births_has(const struct counted_run *run, const struct target *target);
