/* The processes of a counted run, for the profile.  The caller holds the profile's lock. */
#pragma once

#include "profile/profile.h"

#include <sys/types.h>
#include <sys/user.h>

struct process_log {
	struct profile *profile;
	uint64_t start; /* CLOCK_MONOTONIC, ns */
};

/* The program itself; the clock starts. */
void process_log_begin(struct process_log *log, struct profile *profile, pid_t pid);
/* Thread `tid` of `parent` has a new child, and is stopped after the system call, with `regs`. */
void process_log_birth(struct process_log *log, pid_t parent, pid_t tid, pid_t child,
		       const struct user_regs_struct *regs);
void process_log_exec(struct process_log *log, pid_t pid);
/* A thread is about to end, or has: the name and the time of the last one stay.  `status`: its wait
 * status, or -1.  Threads that are no process's first change only the time. */
void process_log_exit(struct process_log *log, pid_t pid, pid_t tid, int status);
