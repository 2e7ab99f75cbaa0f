/* Groups while they are made: shared by grouping.c and grouping_threads.c. */
#pragma once

#include "report/rows/ranking.h"
#include "report/rows/view.h"

#define LEFT_OUT 0
enum kind {
	KIND_IN,
	KIND_BEHIND,
	KIND_IGNORED,
	N_KINDS
}; /* code: in focus, not in focus, ignored */

struct maker {
	const struct report_view *view;
	const struct profile *profile;
	enum report_by by;
	uint32_t
		only; /* code of that function alone (row in profile->functions), or PROFILE_NONE */
	uint32_t *own; /* BY_INLINED, per function: its row in inlined_functions, or PROFILE_NONE */
	uint32_t *body; /* per row of inlined_functions: the function, or PROFILE_NONE */
	uint32_t
		*loop_calls; /* report_calls_of_loops of the function whose loops were named last */
	uint32_t loop_function;
	struct report_filter filter;
	struct model_range *base;
	size_t n_base, cap_base; /* all code; row: the plain model's */
	struct model_range *over;
	size_t n_over, cap_over; /* parts of it; row: in `named` */
	uint32_t *named;         /* per row of an overlay: group, or PROFILE_NONE */
	const struct model_function *
		*functions; /* of the plain model, per function of the profile */
	uint32_t *plain;    /* per row of the plain model: group, or PROFILE_NONE */
	struct grouping *out;
};

/* Adds a row; takes the name.  False: no memory. */
bool grouping_new(struct grouping *out, char *name, const char *module, uint32_t function,
		  bool left_out, uint32_t *group);
/* Of the code of a row of the plain model, by the names of its function and module. */
enum kind grouping_kind(const struct maker *maker, uint32_t plain);
/* grouping_threads.c: rows for threads or processes. */
bool grouping_threads(struct maker *maker);
