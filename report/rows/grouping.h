/* Rows other than functions (--by, --focus, --ignore): which code and which threads are a row. */
#pragma once

#include "report/rows/view.h"

/* Groups for the options of a plain view (row 0: what is left out), whose model has its loops where
 * they are what is asked for.  A row is in focus where the expression is found in what it is called
 * or in the name of its function or module.  Fails for want of memory, and for expressions that are
 * none. */
struct rf_error *grouping_create(const struct report_view *view, struct model_groups *out);
/* Groups for one function alone (row in profile->functions): its own code, and each function that
 * was inlined in it. */
struct rf_error *grouping_of_function(const struct report_view *view, uint32_t function,
				      struct model_groups *out);
void grouping_destroy(struct model_groups *groups);
