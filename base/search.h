/* The one binary search, and what orders numbers. */
#pragma once

#include <stddef.h>

/* How many of the numbers 0 … n-1 meet `condition`, an expression in `index`, where those that meet
 * it come before all others.  With rows in ascending order of `start`,
 *
 *     size_t n_before = rf_search(n, i, rows[i].start <= offset);
 *
 * is the number of rows that start at or before an offset: the last of them is row n_before - 1,
 * the first behind it is row n_before. */
#define rf_search(n, index, condition)                                        \
	({                                                                    \
		size_t rf_low = 0, rf_high = (n);                             \
		while (rf_low < rf_high) {                                    \
			const size_t index = rf_low + (rf_high - rf_low) / 2; \
			if (condition)                                        \
				rf_low = index + 1;                           \
			else                                                  \
				rf_high = index;                              \
		}                                                             \
		rf_low;                                                       \
	})

/* Below, at or above 0, as comparisons for qsort give it.  Several keys are joined by GNU's short
 * form: `rf_compare(x->module, y->module) ?: rf_compare(x->start, y->start)`. */
#define rf_compare(a, b) (((a) > (b)) - ((a) < (b)))
