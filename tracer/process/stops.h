/* Waiting for the next stop of one tracee, which may never come. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum awaited {
	AWAITED_STOP, /* it has stopped */
	AWAITED_END,  /* it stops no more: its end is left for waitpid(-1) to report */
	AWAITED_LATE, /* it has not stopped in time, and may do so at any later time */
};

/* How long a step of a thread may take, and that of a process that is being set up, which cannot go
 * on without it. */
#define STEP_LIMIT_NS 500000000ull
#define SETUP_LIMIT_NS 10000000000ull

/* Waits for the tracee's next stop, whose status as of waitpid is put into *status.  An end is not
 * taken, so that the follower sees it.  A leader that has ended before its threads counts as ended:
 * the kernel reports it only behind the last of them, which may itself wait for the follower. */
enum awaited stops_await(pid_t tid, uint64_t limit_ns, int *status);

/* Whether the tracee is a leader that has ended, but not all threads of its process have. */
bool stops_ended_first(pid_t tid);
