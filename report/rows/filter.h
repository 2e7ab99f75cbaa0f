/* --focus and --ignore: rows by an expression. */
#pragma once

#include "report/rows/report_options.h"

#include <regex.h>

/* Compiled expressions, or NULL. */
struct report_filter {
	regex_t *focus, *ignore;
};

/* What is in focus (all, without an expression), not in focus, ignored. */
enum report_kind { KIND_IN, KIND_BEHIND, KIND_IGNORED, N_KINDS };

/* An error where one of them is no extended regular expression; deinit in any case. */
struct rf_error *report_filter_init(struct report_filter *filter,
				    const struct report_options *options);
void report_filter_deinit(struct report_filter *filter);
/* By one of two texts, which may be one and the same. */
enum report_kind report_filter_kind(const struct report_filter *filter, const char *name,
				    const char *module);

/* Whether `pattern` is an extended regular expression; `option`: the option it was given with. */
struct rf_error *report_pattern_check(const char *option, const char *pattern);
