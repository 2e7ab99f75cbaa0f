/* Times the calls of kernels in the timed run, by breakpoints of the processor that perf_event_open
 * follows in all threads and processes: the program is not stopped.  A thread of
 * rfprof reads what they tell, and turns them on and off (call_schedule.h).
 *
 * Each process is followed to its end or its next execve.  Kernels are those in the program and the
 * libraries that it starts with, and those in libraries that the first process maps later, there
 * and in the processes that it forks afterwards. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <sys/types.h>

struct call_watch;

/* Before the program is let go to its execve; takes some 10 ms.  Before other rings are mapped: a
 * plain user may have only so many pages of them.  `kernels`: as --kernel has them; stays.
 * `first_only`: processes that it starts are left out.  Errors: breakpoints are refused. */
struct rf_error *call_watch_create(pid_t pid, const char *kernels, bool first_only,
				   struct call_watch **out);
/* The process stands at its entry point, traced by this thread: calls are timed from now on.
 * Errors: none can be. */
struct rf_error *call_watch_begin(struct call_watch *watch);
/* The program has ended: its calls get into the profile (kernel_times), with the facts call_times_…
 * Nothing gets there where call_watch_begin has failed. */
struct rf_error *call_watch_finish(struct call_watch *watch, struct profile *profile);
/* NULL is allowed. */
void call_watch_destroy(struct call_watch *watch);
