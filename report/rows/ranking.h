/* In which order rows stand (--sort, --min, --top), and rows that are not simply all functions
 * (--by, --focus, --ignore, --min). */
#pragma once

#include "report/rows/view.h"

/* The order of the view's rows, to be freed; sets n_rank and n_shown.  Rows of little time stand
 * behind the others, and are not among those that are shown unless there are no others, or --top or
 * --min was given.  NULL: no memory. */
size_t *report_rank(struct report_view *view);
/* Whether a row is a function of the dynamic linker, or of what it does at a program's start. */
bool report_is_linker(const struct report_view *view, const struct model_function *f);
/* Whether a row is below --min. */
bool report_is_small(const struct report_view *view, const struct model_function *f);
/* Calls `use` with a view of the rows that are asked for. */
struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context);
