/* Which rows a table has (--by, --focus, --ignore), and in which order they stand (--sort, --min,
 * --top). */
#pragma once

#include "report/rows/view.h"

/* Rows other than functions.  `groups` is what model_build_as wants; the rest is its memory. */
struct grouping {
	struct model_groups groups;
	struct model_range *ranges;
	size_t n_ranges, cap_ranges;
	struct model_group *rows;
	size_t n_rows, cap_rows; /* row 0: what is left out */
	uint32_t *by_thread;
};
/* Groups for the options of a plain view, whose model has its loops where they are what is asked
 * for.  A row is in focus where the expression is found in what it is called or in the name of its
 * function or module.  Fails for want of memory, and for expressions that are none. */
struct rf_error *grouping_create(const struct report_view *view, struct grouping *out);
/* Groups for one function alone (row in profile->functions): its own code, and each function that
 * was inlined in it. */
struct rf_error *grouping_of_function(const struct report_view *view, uint32_t function,
				      struct grouping *out);
void grouping_destroy(struct grouping *grouping);

/* A model whose rows are call paths, from the outermost function (below start-up code) to the one
 * that the time is of: each with its samples' time, and with the speed and the roof of that
 * function, since work is counted by function and not by path.  The rows borrow from the plain
 * model.  --focus and --ignore look at all functions of a path.  Free with call_paths_destroy. */
struct rf_error *call_paths_create(const struct report_view *view, struct model *out);
void call_paths_destroy(struct model *paths);

/* The name of a place (profile_place_at, and the plain model's model_function.row), without
 * "unknown in". */
const char *report_row_name(const struct profile *profile, uint32_t row);
/* Whether it is what calls main, or a thread's first function. */
bool report_is_start_up(const char *name);

/* The order of the view's rows; sets n_rank and n_shown.  NULL: no memory. */
size_t *report_rank(struct report_view *view);

/* "loop 2.1": the second outermost one's first inner one; in 64 bytes. */
void report_loop_number(char *text, const struct model_function *function, size_t loop);
/* Base name and number of the source line at a place, "mesh.c:88"; false where none is known. */
bool report_line_at(const struct profile *profile, uint32_t module, uint64_t offset, char *text,
		    size_t size);

/* inlined_names.c: the innermost inlined call (row in profile->inlined_calls) at a place, or
 * PROFILE_NONE. */
uint32_t report_inlined_at(const struct profile *profile, uint32_t module, uint64_t offset);
/* The first row of inlined_code that ends behind a place. */
size_t report_inlined_from(const struct profile *profile, uint32_t module, uint64_t offset);
/* The function of a call. */
const char *report_inlined_name(const struct profile *profile, uint32_t call);
/* "mul (dot.h:9), in dot (solver.c:12)": a call and those that it stands in, with where they stand;
 * to be freed. NULL: no memory. */
char *report_inlined_chain(const struct profile *profile, uint32_t call);
/* Per loop of a function of the plain model: the innermost call that holds all its code, or
 * PROFILE_NONE; to be freed. NULL: no memory. */
uint32_t *report_calls_of_loops(const struct report_view *view, const struct model_function *f);

/* --focus and --ignore. */
struct report_filter {
	void *focus, *ignore;
}; /* compiled, or NULL */
struct rf_error *report_filter_init(struct report_filter *filter,
				    const struct report_options *options);
void report_filter_deinit(struct report_filter *filter);
/* Whether a text is in focus (true without one), is to be ignored (false without one). */
bool report_filter_focus(const struct report_filter *filter, const char *text);
bool report_filter_ignore(const struct report_filter *filter, const char *text);
/* ranking.c: whether a row is below --min. */
bool report_is_small(const struct report_view *view, const struct model_function *f);
