/* Which inlined function code belongs to, and loops. */
#pragma once

#include "report/rows/view.h"

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
