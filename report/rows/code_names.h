/* What places in the code are called. */
#pragma once

#include "report/rows/filter.h"
#include "report/rows/view.h"

/* "loop 2.1": the second outermost one's first inner one; in 64 bytes. */
void report_loop_number(char *text, const struct model_function *function, size_t loop);
/* The row of the source line at a place, or NULL. */
const struct profile_line *report_line_row(const struct profile *profile, uint32_t module,
					   uint64_t offset);
/* Base name and number of the source line at a place, "mesh.c:88"; false where none is known. */
bool report_line_at(const struct profile *profile, uint32_t module, uint64_t offset, char *text,
		    size_t size);
/* What is behind the last slash. */
const char *report_base_name(const char *path);

/* The name of a place (profile_place_at, and the plain model's model_function.row), without
 * "unknown in". */
const char *report_row_name(const struct profile *profile, uint32_t row);
/* What a filter says of that place, by the names of its function and module. */
enum report_kind report_row_kind(const struct report_filter *filter, const struct profile *profile,
				 uint32_t row);
/* Whether it is what calls main, or a thread's first function. */
bool report_is_start_up(const char *name);

/* The innermost inlined call (row in profile->inlined_calls) at a place, or PROFILE_NONE. */
uint32_t report_inlined_at(const struct profile *profile, uint32_t module, uint64_t offset);
/* The first row of inlined_code that ends behind a place. */
size_t report_inlined_from(const struct profile *profile, uint32_t module, uint64_t offset);
/* The function of a call. */
const char *report_inlined_name(const struct profile *profile, uint32_t call);
/* "mul (dot.h:9), in dot (solver.c:12)": a call and those that it stands in, with where they stand;
 * to be freed.  NULL: no memory. */
char *report_inlined_chain(const struct profile *profile, uint32_t call);
/* Per loop of a function of the plain model: the innermost call that holds all its code, or
 * PROFILE_NONE; to be freed.  NULL: no memory. */
uint32_t *report_calls_of_loops(const struct report_view *view, const struct model_function *f);
/* Where a branch is: its source line, or its offset where that is not known, "mesh.c:88" or
 * "+0x1234". */
#define REPORT_PLACE 128
#define REPORT_BRANCH_PLACE(branch) report_branch_place(branch, (char[REPORT_PLACE]){0})
const char *report_branch_place(const struct profile_branch *branch, char text[REPORT_PLACE]);
