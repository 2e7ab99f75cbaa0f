/* The same call with and without breakpoints, in turn. */
#include "tracer/calls/hit_cost.h"

#include "base/clock.h"
#include "statistics/summary.h"
#include "tracer/calls/call_event.h"
#include "tracer/calls/call_probe.h"
#include "tracer/perf/perf_ring.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PAIRS = 51, RING_PAGES = 4, LINE = 64 };
#define WALKED ((size_t)1 << 20) /* bytes: about a core's caches */

struct probe {
	int entry, back;
	struct perf_ring ring;
	void *memory;
	uint64_t first, last; /* times of records */
};

static void take(void *context, const void *bytes, size_t size)
{
	struct probe *probe = context;
	struct perf_record record;
	if (!perf_record_parse_hit(bytes, size, &record) || record.type != PERF_RECORD_SAMPLE)
		return;
	probe->first = probe->first ? probe->first : record.time;
	probe->last = record.time;
}

static uint64_t time_of_call(const struct probe *probe)
{
	const uint64_t begin = clock_now_ns();
	call_probe(WALKED / LINE, probe->memory);
	return clock_now_ns() - begin;
}

static void turn(const struct probe *probe, unsigned long request)
{
	ioctl(probe->entry, request, 0);
	ioctl(probe->back, request, 0);
}

static bool open_probe(struct probe *probe)
{
	struct perf_event_attr attr = call_event_attributes((uint64_t)(uintptr_t)call_probe);
	attr.inherit = attr.remove_on_exec = 0;
	probe->entry = perf_source_kernel.open(NULL, &attr, 0, -1, -1);
	attr.bp_addr = (uint64_t)(uintptr_t)call_probe_return;
	probe->back = probe->entry < 0 ? -1 : perf_source_kernel.open(NULL, &attr, 0, -1, -1);
	return probe->back >= 0 &&
	       perf_ring_map(&perf_source_kernel, probe->entry, RING_PAGES, &probe->ring) &&
	       ioctl(probe->back, PERF_EVENT_IOC_SET_OUTPUT, probe->entry) == 0;
}

static void close_probe(struct probe *probe)
{
	perf_ring_unmap(&perf_source_kernel, &probe->ring);
	if (probe->entry >= 0)
		close(probe->entry);
	if (probe->back >= 0)
		close(probe->back);
	free(probe->memory);
	free(probe);
}

static void measure(struct probe *probe, struct hit_cost *cost)
{
	double hits[PAIRS], pairs[PAIRS];
	size_t n = 0;
	(void)time_of_call(probe);
	for (int i = 0; i < PAIRS; i++) {
		const double without = (double)time_of_call(probe);
		probe->first = probe->last = 0;
		turn(probe, PERF_EVENT_IOC_ENABLE);
		const double with = (double)time_of_call(probe);
		turn(probe, PERF_EVENT_IOC_DISABLE);
		perf_ring_read(&probe->ring, take, probe);
		if (probe->last == probe->first)
			continue;
		hits[n] = (with - without) / 2;
		pairs[n++] = (double)(probe->last - probe->first) - without;
	}
	if (!n)
		return;
	cost->hit_ns = rf_summary(hits, n).median;
	cost->pair_ns = rf_summary(pairs, n).median;
}

bool hit_cost_measure(struct hit_cost *cost)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	*cost = (struct hit_cost){0};
	if (!probe)
		return false;
	probe->entry = probe->back = -1;
	probe->memory = calloc(1, WALKED);
	const bool opened = probe->memory && open_probe(probe);
	if (opened)
		measure(probe, cost);
	close_probe(probe);
	return opened;
}
