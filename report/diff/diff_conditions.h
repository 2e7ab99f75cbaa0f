/* --fail-on: what must not be; docs/exports.md has the grammar. */
#pragma once

#include "report/diff/diff.h"

#include <stdio.h>

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
