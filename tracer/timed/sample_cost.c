/* The cost of a sample, measured: the same short loop runs with and without samples in turn. */
#include "tracer/timed/sample_cost.h"

#include "base/clock.h"
#include "machine/kernels/clock_kernels.h"
#include "machine/roofs/measure.h"
#include "tracer/perf/perf_ring.h"

#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Samples as dense as the kernel's limits allow with something to spare; not a round number, as the
 * samplers' periods. */
#define PERIOD_NS 49999
#define LOOP_NS 100000 /* two samples in each: more of them tell no more of their cost */
enum { PAIRS = 9, FEW_PAIRS = 3, RING_PAGES = 32 };

/* An event on this thread with its ring. */
struct probe {
	int event;
	struct perf_ring *ring;
};

static void close_probe(struct probe *probe)
{
	if (probe->ring)
		perf_ring_unmap(&perf_source_kernel, probe->ring);
	if (probe->event >= 0)
		close(probe->event);
	free(probe->ring);
}

static bool open_probe(struct probe *probe, const struct perf_event_attr *like)
{
	struct perf_event_attr attr = *like;
	attr.sample_period = PERIOD_NS;
	attr.disabled = 1;
	attr.inherit = attr.enable_on_exec = 0;
	/* nothing but samples; and older kernels refuse build ids */
	attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.comm_exec = attr.task = 0;
	*probe = (struct probe){.event = perf_source_kernel.open(NULL, &attr, 0, -1, -1),
				.ring = calloc(1, sizeof(*probe->ring))};
	if (probe->ring && probe->event >= 0 &&
	    perf_ring_map(&perf_source_kernel, probe->event, RING_PAGES, probe->ring))
		return true;
	close_probe(probe);
	return false;
}

static uint64_t time_of(uint64_t count)
{
	uint64_t start = clock_now_ns();
	clock_adds(count);
	return clock_now_ns() - start;
}

static void count_sample(void *opaque, const void *bytes, size_t size)
{
	const struct perf_event_header *header = bytes;
	(void)size;
	*(unsigned *)opaque += header->type == PERF_RECORD_SAMPLE;
}

/* The cost of a sample by one pair of loops, below 0 where the first was disturbed; NAN: no samples
 * came. */
static double cost_of_pair(const struct probe *probe, uint64_t count)
{
	unsigned n = 0;
	uint64_t without = time_of(count);
	ioctl(probe->event, PERF_EVENT_IOC_ENABLE, 0);
	uint64_t with = time_of(count);
	ioctl(probe->event, PERF_EVENT_IOC_DISABLE, 0);
	perf_ring_read(probe->ring, count_sample, &n);
	return n > 0 ? ((double)with - (double)without) / n : NAN;
}

uint64_t sample_cost_ns(const struct perf_event_attr *attr, bool roughly)
{
	struct probe probe;
	double costs[PAIRS];
	size_t n = 0;
	if (!open_probe(&probe, attr))
		return 0;
	uint64_t count = 1000, once = time_of(count);
	count = count * LOOP_NS / (once > 0 ? once : 1) + 1;
	for (int i = 0; i < (roughly ? FEW_PAIRS : PAIRS); i++) {
		double cost = cost_of_pair(&probe, count);
		if (!isnan(cost))
			costs[n++] = cost;
	}
	close_probe(&probe);
	double median = n > 0 ? measure_summary(costs, n).median : 0;
	return median > 0 ? (uint64_t)median : 0;
}
