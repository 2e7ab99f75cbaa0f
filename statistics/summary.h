/* The middle and the ends of some figures. */
#pragma once

#include <stddef.h>

struct summary {
	double least, q1, median, q3, most;
};

/* Of `n` > 0 figures, which get sorted.  Quartiles by linear interpolation between order statistics
 * (Hyndman & Fan 1996, definition 7). */
struct summary rf_summary(double *figures, size_t n);
