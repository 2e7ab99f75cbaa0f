/* The software event page-faults. */
#include "tracer/perf/fault_event.h"

#include "tracer/perf/perf_ring.h"

#include <sys/ioctl.h>
#include <unistd.h>

/* A fault takes 0.5 to 2 us, and the kernel counts it in 80 to 100 ns as soon as there is an event
 * of the kind: samples, of 2.4 us with their stacks, are to cost much less than that.  A prime, so
 * that faults that come by turns all have their share. */
#define PERIOD 397
/* Nobody has more. */
#define FAULTS_A_SECOND 4000000

/* Faults a second, of 0.8 to 2 us each.  A sample of time amid them costs twice as much as
 * elsewhere: new pages drive everything else out of the caches. */
enum { OFTEN = 150000, SELDOM = 75000 };

/* The shortest times in which a rate is told that makes samples rare, and one that ends it: what
 * comes behind the faults is to have all its samples soon. */
enum { LEAST_NS = 20000000, LEAST_OFTEN_NS = 8000000 };

void fault_event_open(struct fault_event *fault, const struct perf_event_attr *like, pid_t pid,
		      int cpu, uint64_t max_rate)
{
	struct perf_event_attr attr = *like;
	const uint64_t least = max_rate ? FAULTS_A_SECOND / max_rate : 0;
	fault->period = (least > PERIOD ? least : PERIOD) | 1;
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.sample_type = PERF_RING_FAULT_TYPE;
	attr.sample_period = fault->period;
	attr.enable_on_exec = 1;
	/* the events of time tell these */
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = attr.build_id = 0;
	attr.context_switch = 0;
	fault->event = perf_source_kernel.open(NULL, &attr, pid, cpu, -1);
}

void fault_event_share(struct fault_event *fault, int event)
{
	if (fault->event >= 0 && (ioctl(fault->event, PERF_EVENT_IOC_SET_OUTPUT, event) != 0 ||
				  ioctl(fault->event, PERF_EVENT_IOC_ID, &fault->id) != 0))
		fault_event_close(fault);
}

void fault_event_add(struct fault_event *fault)
{
	fault->rate.samples++;
}

void fault_event_add_time(struct fault_event *fault, uint64_t ns)
{
	fault->rate.ran_ns += ns;
}

bool fault_event_is_often(struct fault_event *fault)
{
	struct fault_rate *rate = &fault->rate;
	const double faults = (double)rate->samples * (double)fault->period;
	if (rate->ran_ns < (rate->often ? LEAST_OFTEN_NS : LEAST_NS))
		return rate->often;
	rate->often = faults * 1e9 / (double)rate->ran_ns > (rate->often ? SELDOM : OFTEN);
	rate->ran_ns = rate->samples = 0;
	return rate->often;
}

void fault_event_stop(const struct fault_event *fault)
{
	if (fault->event >= 0)
		ioctl(fault->event, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t fault_event_count(const struct fault_event *fault)
{
	uint64_t n;
	return fault->event >= 0 && read(fault->event, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

void fault_event_close(struct fault_event *fault)
{
	if (fault->event >= 0)
		close(fault->event);
	fault->event = -1;
}
