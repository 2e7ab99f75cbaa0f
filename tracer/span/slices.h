/* What the counted run has counted, slice by slice: rows of counts and units in the profile, which
 * belong to slices, and system calls, which are kept here until it is known which slices count. */
#pragma once

#include "profile/profile.h"
#include "tracer/span/native_times.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows [counts, counts_end) and [units, units_end) of the profile are of this slice. */
struct slice_rows {
	uint32_t slice;
	size_t counts, counts_end, units, units_end;
};

struct slice_call {
	uint32_t slice;
	struct profile_system_call row;
};

struct slices {
	struct slice_rows *rows;
	size_t n_rows, cap_rows;
	struct slice_call *calls;
	size_t n_calls, cap_calls;
};

/* Slices [first, end) are a span. */
struct slice_range {
	uint32_t first, end;
	/* By how much native time its two ends are off, s: what is known of them. */
	double first_error_s, end_error_s;
};

void slices_deinit(struct slices *slices);

/* The rows that are added to the profile from now on, up to slices_end, belong to a slice. */
struct slice_rows slices_begin(uint32_t slice, const struct profile *profile);
struct rf_error *slices_end(struct slices *slices, struct slice_rows rows,
			    const struct profile *profile);

struct rf_error *slices_add_call(struct slices *slices, uint32_t slice,
				 const struct profile_system_call *key, uint64_t failed,
				 uint64_t done, uint64_t bytes);

/* The range of slices, of which there are `n`, whose code takes natively what was spent within the
 * span, and before it what was spent before.  An execution of code is taken to last as long as its
 * place did in the mean of the whole run. */
struct rf_error *slices_choose(const struct slices *slices, const struct profile *profile,
			       uint32_t n, struct native_times *times, struct slice_range *range);
/* Rows of other slices count nothing any more, and system calls of the range go into the profile.
 */
struct rf_error *slices_keep(struct slices *slices, struct profile *profile,
			     const struct slice_range *range);
