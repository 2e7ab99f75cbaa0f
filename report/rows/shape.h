/* Rows that are not simply all functions: --by, --focus, --ignore, --min. */
#pragma once

#include "report/rows/view.h"

/* shape.c: whether rows are not simply all functions; calls `use` with a view of the rows that are
 * asked for. */
bool report_is_shaped(const struct report_options *options);
struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context);
