/* --focus and --ignore: rows by an expression. */
#pragma once

#include "report/rows/report_options.h"

/* Compiled expressions, or NULL. */
struct report_filter {
	void *focus, *ignore;
};

/* An error where one of them is no extended regular expression; deinit in any case. */
struct rf_error *report_filter_init(struct report_filter *filter,
				    const struct report_options *options);
void report_filter_deinit(struct report_filter *filter);
/* Whether a text is in focus (true without one), is to be ignored (false without one). */
bool report_filter_focus(const struct report_filter *filter, const char *text);
bool report_filter_ignore(const struct report_filter *filter, const char *text);

/* Whether `pattern` is an extended regular expression; `option`: the option it was given with. */
struct rf_error *report_pattern_check(const char *option, const char *pattern);
