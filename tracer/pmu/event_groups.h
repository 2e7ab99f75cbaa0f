/* Which events are counted at the same time.
 *
 * A PMU has a few general counters and, on some processors, fixed ones, each for one event.  What
 * does not fit is counted in turns, and then the numbers are estimates.  Events that share a group
 * (perf_event_open(2), group_fd) are always counted over the same stretches of time, so that their
 * sums and ratios hold even then. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { EVENT_GROUPS_MAX = 64 }; /* events, and so groups */

struct counter_limits {
	unsigned general; /* counters for any event */
	unsigned fixed;   /* bit i: fixed counter i is there */
};

/* What grouping needs to know of an event. */
struct group_wish {
	int fixed;       /* the fixed counter that can count it, 0…31; -1: none can */
	bool software;   /* the kernel counts it: needs no counter */
	bool everywhere; /* is in each group, as cycles and instructions are, for ratios */
	/* Events with the same number are parts of one sum and stay together; 0: stands alone. */
	unsigned formula;
};

struct event_groups {
	size_t n;                            /* groups; 1: nothing is counted in turns */
	unsigned group_of[EVENT_GROUPS_MAX]; /* of each event; of those that are everywhere: 0 */
};

/* Puts `n` events (1…EVENT_GROUPS_MAX) into the fewest groups such that each group with the events
 * that are everywhere fits the counters, and no formula that fits into a group is divided.  A
 * formula that does not is cut: the first part of it fills a group, and so on; the last part may
 * share one.  False when one event (with those that are everywhere) fits into no group, or n is out
 * of range. */
bool event_groups_make(const struct group_wish *wishes, size_t n,
		       const struct counter_limits *limits, struct event_groups *groups);
