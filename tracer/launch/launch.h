/* Starting the program, and signals meant for it.
 *
 * The child waits before its execve until it is released, so that samplers and ptrace can be
 * attached to it.  A failed execve reaches the parent through a pipe that closes on success. */
#pragma once

#include "base/error.h"
#include "tracer/launch/stdio_plan.h"

#include <sys/types.h>

struct launch_spec {
	const char *path; /* file to execute */
	char *const *argv, *const *envp;
	struct stdio_plan *plan; /* whose streams the child gets */
};

struct launch {
	pid_t pid;
	int go_fd;    /* closing it releases the child */
	int error_fd; /* errno of a failed execve comes here */
};

struct rf_error *launch_start(const struct launch_spec *spec, struct launch *launch);
/* Lets the child go on to its execve. */
void launch_release(struct launch *launch);
/* After the child has ended: errno of its failed execve, or 0. */
int launch_exec_errno(struct launch *launch);
/* Ends a child that has not been released, and waits for it. */
void launch_abort(struct launch *launch);

/* From now on, signals that this process gets from other processes (TERM, HUP, INT, QUIT, USR1,
 * USR2) are sent on to `pid`, and none of them ends this process.  Those that a
 * terminal sends reach the program by itself, as a member of the same process group.  0: nobody. */
void launch_forward_signals(pid_t pid);
/* Whether a signal that asks for an end (INT, TERM, HUP, QUIT) has come, or the program with that
 * wait status died of any signal that was sent to this process. */
bool launch_was_interrupted(int status);

/* Ends this process as a program with that wait status ended: same exit status, or death by the
 * same signal (without a core dump of ours). */
void launch_end_like(int status) __attribute__((noreturn));
