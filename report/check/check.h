/* Whether the figures of a report can be true together: parts are not more than the whole, shares
 * and ratios lie between 0 and 1, what a level is asked for comes from it or from behind it, and so
 * on (invariants.def).  A report that keeps to all of this can still be wrong; one that does not
 * is.
 */
#pragma once

#include "base/error.h"
#include "report/model/model.h"

#include <stdio.h>

struct report_checked {
	size_t n_invariants, n_rows, n_broken;
};

/* Checks a profile's rows by function, with their loops, and the sums of the rows of every other
 * kind (--by) against these.  Writes a line for each invariant that a row breaks to `stream`.
 * Errors: memory is short. */
struct rf_error *report_check(const struct profile *profile, FILE *stream,
			      struct report_checked *checked);

/* The same of the rows of one model of a profile alone. */
struct report_checked report_check_model(const struct profile *profile, const struct model *model,
					 FILE *stream);

/* The sums of the rows of `other`, which are `rows` of the same profile, against those by function;
 * and each of them. */
struct report_checked report_check_view(const struct profile *profile,
					const struct model *by_function, const struct model *other,
					const char *rows, FILE *stream);
