/* What breakpoints at a call's entry and return cost, measured on rfprof's own thread. */
#pragma once

#include <stdbool.h>

struct hit_cost {
	double hit_ns; /* that one takes from the thread; 0: could not be measured */
	/* Of a call's two records: by so much they are farther apart than the call takes, in the
	 * middle between two cases, and how far these are from there: the kernel's code and data
	 * for it are in caches close by, or in none.  All of it is time that the thread runs. */
	double pair_ns, pair_spread_ns;
	/* Code in the same line (64 bytes) as a breakpoint that is on runs slower (a virtual Zen 5:
	 * a short loop up to four times, as it is decoded anew each time). */
	bool slows_line;
};

/* Takes some 60 ms.  False: breakpoints are refused (errno). */
bool hit_cost_measure(struct hit_cost *cost);
