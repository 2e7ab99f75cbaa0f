/* What the kernel tells of how long threads have run and stood in the run queue.  These are its own
 * sums, which scheduling goes by: to the nanosecond, and of all switches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kernel_sums {
	uint64_t ran_ns, ready_ns;
};

/* Of a thread, by /proc/PID/task/TID/schedstat ("time spent on the cpu", "time spent waiting on a
 * runqueue"; Documentation/scheduler/sched-stats.rst).  While the thread runs, what it has run is
 * that at the last tick.  False: it is gone, or this kernel does not tell. */
bool kernel_sums_of_thread(uint32_t pid, uint32_t tid, struct kernel_sums *sums);

/* How long all threads of a process have run, with those that have ended, ns (its clock of
 * processor time, clock_getcpuclockid(3)); 0: not known. */
uint64_t kernel_sums_ran(pid_t pid);
