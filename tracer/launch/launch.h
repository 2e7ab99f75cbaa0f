/* Starting the program, and signals meant for it.
 *
 * The child waits before its execve until it is released, so that samplers and ptrace can be
 * attached to it.  A failed execve reaches the parent through a pipe that closes on success. */
#pragma once

#include "base/error.h"
#include "tracer/launch/stdio_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct launch_spec {
	const char *path; /* file to execute */
	char *const *argv, *const *envp;
	struct stdio_plan *plan; /* whose streams the child gets */
	bool is_traced; /* until it is released, any process of the user may begin to trace it */
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
 * terminal sends reach the program by itself, as a member of the same process group.  0: nobody.
 *
 * What the program and its descendants send to their parent, or to the process group, which is this
 * process's as well, is neither sent on nor does it end this process, whichever signal it is.  It
 * is stopped (TSTP, TTIN, TTOU) where the program is stopped as well: a whole job was meant then.
 */
void launch_forward_signals(pid_t pid);
/* The names of signals of the program's that were ignored so far, with commas between them; false:
 * none. */
bool launch_ignored_signals(char *names, size_t size);
/* Whether SIGCONT has come since the last call with a `pid`: this process may have been stopped. */
bool launch_was_continued(void);
/* Whether a signal that asks for an end (INT, TERM, HUP, QUIT) has come, or the program with that
 * wait status died of any signal that was sent to this process. */
bool launch_was_interrupted(int status);
/* The first of these signals that has come; 0: none.  They are forgotten: another run begins. */
int launch_forget_interruption(void);

/* Ends this process as a program with that wait status ended: same exit status, or death by the
 * same signal (without a core dump of ours). */
void launch_end_like(int status) __attribute__((noreturn));
