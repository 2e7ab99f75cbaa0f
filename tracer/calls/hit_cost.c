/* Calls that read the clock themselves, with breakpoints at both of their ends: some that do
 * nothing that would need the caches, and some that read more than there is room for in them. */
#include "tracer/calls/hit_cost.h"

#include "base/clock.h"
#include "statistics/summary.h"
#include "tracer/calls/call_event.h"
#include "tracer/calls/call_probe.h"
#include "tracer/perf/perf_ring.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SPINS = 51, WALKS = 9, LOOPS = 7, RING_PAGES = 4, LINE = 64 };
#define WALKED ((size_t)1 << 25) /* bytes: as much as a last cache has for a core, or more */
#define TURNS 100000             /* some 30 us */

#define SLOWER 1.1 /* so much is no chance */

/* What the probe does, and when by its own clock. */
struct work {
	volatile uint8_t *memory;
	size_t lines, turns;
	uint64_t begin, end;
};

struct probe {
	int entry, back;
	struct perf_ring ring;
	uint8_t *memory;
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

static void do_work(void *context)
{
	struct work *work = context;
	work->begin = clock_now_ns();
	for (size_t i = 0; i < work->lines; i++)
		(void)work->memory[i * LINE];
	for (size_t i = 0; i < work->turns; i++)
		__asm__ volatile("");
	work->end = clock_now_ns();
}

static double time_of_call(struct work *work)
{
	const uint64_t begin = clock_now_ns();
	call_probe(do_work, work);
	return (double)(clock_now_ns() - begin);
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

/* From one reading of the clock to the next. */
static double cost_of_reading(void)
{
	double times[SPINS];
	for (int i = 0; i < SPINS; i++) {
		const uint64_t begin = clock_now_ns();
		times[i] = (double)(clock_now_ns() - begin);
	}
	return rf_summary(times, SPINS).median;
}

/* One call with breakpoints, ns; `between`: its records, less what its own clock says.  False: no
 * records. */
static bool look(struct probe *probe, struct work *work, double *took, double *between)
{
	probe->first = probe->last = 0;
	turn(probe, PERF_EVENT_IOC_ENABLE);
	*took = time_of_call(work);
	turn(probe, PERF_EVENT_IOC_DISABLE);
	perf_ring_read(&probe->ring, take, probe);
	*between = (double)(probe->last - probe->first) - (double)(work->end - work->begin);
	return probe->last > probe->first;
}

/* Of calls between which nothing leaves the caches. */
static bool look_close_by(struct probe *probe, double *hit, double *between)
{
	double hits[SPINS], all[SPINS], with;
	struct work work = {.turns = TURNS};
	size_t n = 0;
	(void)time_of_call(&work);
	for (int i = 0; i < SPINS; i++) {
		const double without = time_of_call(&work);
		if (look(probe, &work, &with, &all[n]))
			hits[n++] = (with - without) / 2;
	}
	if (!n)
		return false;
	*hit = rf_summary(hits, n).q1; /* others may disturb many of them */
	*between = rf_summary(all, n).median;
	return true;
}

/* Of calls in which all does. */
static bool look_far_away(struct probe *probe, double *between)
{
	double all[WALKS], took;
	struct work work = {.memory = probe->memory, .lines = WALKED / LINE};
	size_t n = 0;
	(void)time_of_call(&work);
	for (int i = 0; i < WALKS; i++)
		n += look(probe, &work, &took, &all[n]);
	if (!n)
		return false;
	/* Where others want the processors as well, they leave nothing of the kernel's code and
	 * data in the caches: that is what calls meet then. */
	*between = rf_summary(all, n).q3;
	return true;
}

/* The least time of a loop of so many turns, ns. */
static double time_of_loop(uint64_t turns)
{
	double least = INFINITY;
	for (int i = 0; i < LOOPS; i++) {
		const uint64_t begin = clock_now_ns();
		call_probe_loop(turns);
		least = fmin(least, (double)(clock_now_ns() - begin));
	}
	return least;
}

/* Whether a loop is slower with a breakpoint beside it, to which it does not come. */
static bool slows_line(void)
{
	struct perf_event_attr attr = call_event_attributes((uint64_t)(uintptr_t)call_probe_beside);
	attr.inherit = attr.remove_on_exec = attr.disabled = 0;
	const double without = time_of_loop(TURNS);
	const int event = perf_source_kernel.open(NULL, &attr, 0, -1, -1);
	const double with = time_of_loop(TURNS);
	if (event >= 0)
		close(event);
	return with > SLOWER * without;
}

/* The cheapest calls of programs took up to a tenth less than the cheapest here. */
#define LESS 0.1

/* What the probe tells has one reading of the clock in it, in two pieces. */
static void measure(struct probe *probe, struct hit_cost *cost)
{
	const double reading = cost_of_reading();
	double hit, near, far;
	if (!look_close_by(probe, &hit, &near) || !look_far_away(probe, &far))
		return;
	far = far > near ? far : near;
	*cost = (struct hit_cost){.hit_ns = hit,
				  .pair_ns = (near + far) / 2 - reading,
				  .pair_spread_ns = (far - near) / 2 + LESS * near,
				  .slows_line = slows_line()};
}

bool hit_cost_measure(struct hit_cost *cost)
{
	struct probe *probe = calloc(1, sizeof(*probe));
	*cost = (struct hit_cost){0};
	if (!probe)
		return false;
	probe->entry = probe->back = -1;
	probe->memory = malloc(WALKED);
	const bool opened = probe->memory && open_probe(probe);
	if (opened)
		memset(probe->memory, 1, WALKED); /* pages of its own */
	if (opened)
		measure(probe, cost);
	close_probe(probe);
	return opened;
}
