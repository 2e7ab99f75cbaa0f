/* What samples stand for where the kernel stops events that sample too fast: a stop is told by a
 * record, and lasts until the next tick at least. */
#pragma once

#include "tracer/perf/perf_ring.h"

#include <stdint.h>

/* Threads that take turns on a CPU within some ticks. */
enum { PERF_STOPS = 8 };

/* Of one CPU; all zero at first. */
struct perf_stops {
	/* Threads whose events the kernel stopped here, the last ones. */
	struct perf_stop {
		uint32_t tid;
		uint64_t before, now; /* times of the last stop and of one just told; 0: none */
	} stops[PERF_STOPS];
	unsigned n;
};

/* Takes in a PERF_RECORD_THROTTLE. */
void perf_stops_add(struct perf_stops *stops, const struct perf_record *record);
/* The CPU time in ns that a sample stands for: its period or, where its thread's event was stopped
 * before, the time since (kernel time in it counts as the thread's own; of a pause of the thread no
 * more than a tick, `tick_ns`).  A stop is told before the sample that was one too many. */
uint64_t perf_stops_weight(struct perf_stops *stops, const struct perf_record *sample,
			   uint64_t tick_ns);
