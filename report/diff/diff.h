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
#include <stdio.h>

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
	bool memory; /* bytes are those to and from memory, traced in both; else loaded and stored
		      */
};

/* Fails only when memory is short. */
struct rf_error *diff_init(struct diff *diff, const struct profile *a, const struct profile *b);
void diff_deinit(struct diff *diff);

/* Of a function, or of the whole program (NULL: sums; the distance of all time that has a roof;
 * wall time). */
struct diff_value diff_value(const struct diff *diff, const struct diff_function *function,
			     enum diff_metric metric);
const char *diff_metric_name(enum diff_metric metric);
/* "time", "headroom", …; false for another word. */
bool diff_metric_parse(const char *word, enum diff_metric *metric);
/* "faster", "slower", "same within noise", "added", "gone". */
const char *diff_verdict(const struct diff *diff, const struct diff_function *function);
/* Of the function, in B where it is there. */
const char *diff_name(const struct diff_function *function);
const char *diff_module(const struct diff_function *function);

/* ---- conditions: diff_conditions.c; docs/exports.md has their grammar ---- */

struct diff_condition {
	const char *text; /* as it was given */
	char *function;   /* NULL: the whole program; "*": any function */
	enum diff_metric metric;
	char op[3]; /* "<", "<=", ">", ">=" */
	double number;
	bool percent; /* change against A, in percent of it */
	bool change;  /* b - a */
};

/* [FUNCTION:]METRIC OP NUMBER[%][s]; `text` must outlive the condition.  On errors *condition is
 * untouched. */
struct rf_error *diff_condition_parse(const char *text, struct diff_condition *condition);
void diff_condition_deinit(struct diff_condition *condition);
/* Whether it is met; then one line about each function that meets it goes to `stream`.  An error
 * when what it is about is not known. */
struct rf_error *diff_condition_test(const struct diff *diff,
				     const struct diff_condition *condition, FILE *stream,
				     bool *met);

/* ---- formats: diff_table.c, diff_json.c, svg_diff.c ---- */

/* names: how A and B are called; top: rows, 0: 20. */
struct rf_error *diff_table(const struct diff *diff, const char *const names[2], size_t top,
			    FILE *stream);
struct rf_error *diff_json(const struct diff *diff, const char *const names[2], FILE *stream);
/* B's roofs, with arrows from A's points to B's. */
struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream);
/* Sentences on what makes the comparison doubtful, to be freed one by one, then the array; NULL: no
 * memory. */
char **diff_notes(const struct diff *diff, size_t *n);
