/* The one binary search. */
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
