/* Reads a file of /proc and a clock. */
#include "tracer/schedule/kernel_sums.h"

#include "base/clock.h"
#include "base/small_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

bool kernel_sums_of_thread(uint32_t pid, uint32_t tid, struct kernel_sums *sums)
{
	char directory[64], line[128];
	snprintf(directory, sizeof(directory), "/proc/%" PRIu32 "/task/%" PRIu32, pid, tid);
	return small_file_line(directory, "schedstat", line, sizeof(line)) &&
	       sscanf(line, "%" SCNu64 " %" SCNu64, &sums->ran_ns, &sums->ready_ns) == 2;
}

uint64_t kernel_sums_ran(pid_t pid)
{
	clockid_t clock;
	return clock_getcpuclockid(pid, &clock) == 0 ? clock_read_ns(clock) : 0;
}
