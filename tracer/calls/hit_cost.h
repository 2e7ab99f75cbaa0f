/* What breakpoints at a call's entry and return cost, measured on rfprof's own thread. */
#pragma once

#include <stdbool.h>

struct hit_cost {
	double hit_ns;  /* that one takes from the thread; 0: could not be measured */
	double pair_ns; /* of a call's two records: by so much they are farther apart than the call
			 * takes without them */
};

/* Takes some 10 ms.  The call that is measured reads as much as fills a cache of a core, as calls
 * do that are worth timing: the kernel's own code and data have left it then.  False: breakpoints
 * are refused (errno). */
bool hit_cost_measure(struct hit_cost *cost);
