/* How the event is opened that samples, and how often it may. */
#include "tracer/timed/sampler_event.h"

#include "base/small_file.h"
#include "tracer/perf/event_records.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/perf/perf_source.h"

#include <errno.h>
#include <math.h>
#include <time.h>

/* Enough for a call chain of some ten frames; a record must fit into 64 KiB. */
enum { STACK_BYTES = 4096 };

static int event_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return perf_source_kernel.open(NULL, attr, pid, cpu, -1);
}

struct perf_event_attr sampler_event_attributes(uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period,
		.sample_type = PERF_RING_SAMPLE_TYPE,
		.sample_regs_user = PERF_RING_REGS_USER,
		.sample_stack_user = STACK_BYTES,
		.disabled = 1,
		.inherit = 1,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
		.context_switch = 1,
		.task = 1,
		.watermark = 1,
	};
	event_records_have_times(&attr);
	event_records_tell_mappings(&attr);
	return attr;
}

uint64_t sampler_event_period(uint64_t wanted_ns, uint64_t max_rate, uint64_t tick_ns)
{
	/* perf_event_max_sample_rate counts whole samples in a tick (max_samples_per_tick in
	 * kernel/events/core.c), and the one that reaches the limit is followed by a stop.  A
	 * little longer than need be, so that jitter does not bring one too many into a tick. */
	const double in_a_tick = ceil((double)max_rate * (double)tick_ns * 1e-9);
	const double ticks = in_a_tick >= 2 ? 1.015 / (in_a_tick - 1) : 2.03;
	const uint64_t shortest = max_rate ? (uint64_t)(ticks * (double)tick_ns) + 3 : 0;
	return wanted_ns > shortest ? wanted_ns : shortest;
}

/* The coarse clocks advance with the ticks (clock_getres(2)). */
uint64_t sampler_event_tick(void)
{
	struct timespec tick;
	const bool known = clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0;
	return known ? 1000000000 * (uint64_t)tick.tv_sec + (uint64_t)tick.tv_nsec : 10000000;
}

/* The kernel's limit in samples a second; 0: not known. */
uint64_t sampler_event_max_rate(void)
{
	const int rate = small_file_number("", "/proc/sys/kernel/perf_event_max_sample_rate");
	return rate > 0 ? (uint64_t)rate : 0;
}

/* The kernel's part is for those alone whom it trusts (kernel.perf_event_paranoid below 2, or
 * CAP_PERFMON). */
static int event_open_trusted(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = event_open(attr, pid, cpu);
	if (fd < 0 && (errno == EACCES || errno == EPERM) && !attr->exclude_kernel) {
		attr->exclude_kernel = attr->exclude_callchain_kernel = 1;
		fd = event_open(attr, pid, cpu);
	}
	return fd;
}

/* Build ids in mappings came with Linux 5.12, events for threads without children with 5.13
 * (before, children's records are read and left out). */
int sampler_event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = event_open_trusted(attr, pid, cpu);
	if (fd < 0 && errno == EINVAL && attr->inherit_thread) {
		attr->inherit_thread = 0;
		fd = event_open(attr, pid, cpu);
	}
	if (fd >= 0 || errno != EINVAL || !attr->build_id)
		return fd;
	attr->build_id = 0;
	return event_open(attr, pid, cpu);
}
