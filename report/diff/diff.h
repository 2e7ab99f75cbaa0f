/* Two profiles beside each other: A is the older one, B the newer.
 *
 * Functions are the same when their name and module are; the two programs themselves count as one
 * module, so that a build with another name can be compared.  Several of one name (static functions
 * of several files) are paired by their file, then in their order.  Time that was not counted is a
 * row of its own, as in a report. */
#pragma once

#include "base/error.h"
#include "report/model/model.h"
#include "report/rows/report_options.h"

#include <stdbool.h>

enum diff_metric {
	DIFF_TIME,
	DIFF_HEADROOM,
	DIFF_DISTANCE,
	DIFF_FLOP,
	DIFF_BYTES,
	DIFF_WALL,
	N_DIFF_METRICS
};

/* A figure in A and in B; NAN where it is not known.  Seconds, times, flop, bytes. */
struct diff_value {
	double a, b;
	double halfwidth; /* of b - a, 95 %; 0: exact, or (wall) not known */
	bool same;        /* b - a is within it */
};

/* One of them may be NULL: added in B, gone from A. */
struct diff_function {
	const struct model_function *a, *b;
};

struct diff_side {
	const struct profile *profile;
	struct model model;
};

struct diff {
	struct diff_side a, b;
	struct diff_function *functions; /* largest change of time beyond the noise first */
	size_t n_functions;
	/* Bytes are those to and from memory, traced in both; else loaded and stored. */
	bool memory;
};

/* Fails only when memory is short. */
struct rf_error *diff_init(struct diff *diff, const struct profile *a, const struct profile *b);
void diff_deinit(struct diff *diff);

/* Of a function, or of the whole program (NULL: sums; the distance of all time that has a roof;
 * wall time). */
struct diff_value diff_value(const struct diff *diff, const struct diff_function *function,
			     enum diff_metric metric);
/* "faster", "slower", "same within noise", "added", "gone". */
const char *diff_verdict(const struct diff *diff, const struct diff_function *function);
/* Of the function, in B where it is there. */
const char *diff_name(const struct diff_function *function);
const char *diff_module(const struct diff_function *function);
