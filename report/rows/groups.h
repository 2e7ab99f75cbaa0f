/* Groups while they are made: all code of the plain model, cut into ranges that do not overlap, and
 * the rows that the ranges go to. */
#pragma once

#include "report/rows/filter.h"
#include "report/rows/grouping.h"

#define LEFT_OUT 0 /* the row of what is left out */

/* Code: in focus, not in focus, ignored. */
enum kind { KIND_IN, KIND_BEHIND, KIND_IGNORED, N_KINDS };

struct code_ranges {
	struct model_range *all;
	size_t n, cap;
};

struct maker {
	const struct report_view *view;
	const struct profile *profile;
	enum report_by by;
	/* Code of that function alone (row in profile->functions), or PROFILE_NONE. */
	uint32_t only;
	/* BY_INLINED: per function its row in inlined_functions, or PROFILE_NONE; per row of
	 * inlined_functions the function, or PROFILE_NONE. */
	uint32_t *own, *body;
	/* report_calls_of_loops of the function whose loops were named last. */
	uint32_t *loop_calls;
	uint32_t loop_function;
	struct report_filter filter;
	struct code_ranges base; /* all code; row: the plain model's */
	struct code_ranges over; /* an overlay, parts of that code; row: in `named` */
	uint32_t *named;         /* per row of the overlay: group, or PROFILE_NONE */
	uint32_t *plain;         /* per row of the plain model: group, or PROFILE_NONE */
	/* Of the plain model, per function of the profile. */
	const struct model_function **functions;
	struct grouping *out;
};

/* Finds all code, and makes the row of what is left out.  An error only when memory is short, here
 * and below; deinit in any case. */
struct rf_error *groups_init(struct maker *maker);
void groups_deinit(struct maker *maker);
/* Adds a row; takes the name, and NULL for want of memory.  *group: its number. */
struct rf_error *groups_add(struct grouping *out, char *name, const char *module, uint32_t function,
			    bool left_out, uint32_t *group);
/* Adds a range unless it is empty. */
struct rf_error *groups_add_range(struct code_ranges *ranges, struct model_range range);
/* Sorts; a range ends where the next one begins. */
void groups_cut_overlaps(struct code_ranges *ranges);

/* Name of the module of a row of the plain model. */
const char *groups_module_of(const struct maker *maker, uint32_t plain);
/* What the code of that row is, by the names of its function and module. */
enum kind groups_kind(const struct maker *maker, uint32_t plain);
