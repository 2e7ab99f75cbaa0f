/* Rows that are not simply all functions: --by, --focus, --ignore, --min. */
#pragma once

#include "report/rows/view.h"

/* Calls `use` with a view of the rows that are asked for. */
struct rf_error *report_shape(const struct report_view *plain,
			      struct rf_error *(*use)(struct report_view *view, void *context),
			      void *context);
