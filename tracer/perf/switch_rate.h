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
	double a_second; /* as decided last */
	bool often;
};

/* Counts a record, of whatever kind. */
void switch_rate_add(struct switch_rate *rate, const struct perf_record *record);
/* Whether threads are switched to often now, at `now` (ns).  It begins at 3,000 a second, ends
 * below 1,500, and is decided anew after 8 ms or more.  Threads and processes that are born one
 * after the other, with fewer than 20 switches each, do not count: they are too short for long
 * periods. */
bool switch_rate_is_high(struct switch_rate *rate, uint64_t now);
/* Switches were not recorded until `now`: what was decided last stays, and they are counted anew.
 */
void switch_rate_resume(struct switch_rate *rate, uint64_t now);

/* Where records of switches would take more than they are worth, they are made in windows: of 5 ms
 * in some 100.  All zero at first: always. */
struct switch_windows {
	enum { SWITCHES_ALL, SWITCHES_WINDOW, SWITCHES_GAP } state;
	uint64_t since;
};
/* The next state at `now` (ns), which differs from the last one or not; `a_second`: the highest
 * rate of a processor. */
void switch_windows_go_on(struct switch_windows *windows, double a_second, uint64_t now);
