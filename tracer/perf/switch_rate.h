/* Whether threads are switched to so often on a processor that arming a timer each time costs them
 * much. */
#pragma once

#include "tracer/perf/perf_ring.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one processor; all zero at first. */
struct switch_rate {
	uint64_t since; /* the time from which on these were counted, ns; 0: never */
	uint64_t switches, births;
	bool often;
};

/* Counts a record, of whatever kind. */
void switch_rate_add(struct switch_rate *rate, const struct perf_record *record);
/* Whether threads are switched to often now, at `now` (ns).  It begins at 3,000 a second, ends
 * below 1,500, and is decided anew after 8 ms or more.  Threads and processes that are born one
 * after the other, with fewer than 20 switches each, do not count: they are too short for long
 * periods. */
bool switch_rate_is_high(struct switch_rate *rate, uint64_t now);
