/* What moved at every level. */
#pragma once

#include "report/rows/view.h"

/* report_levels.c: what moved at every level (--levels). */
struct rf_error *report_levels(const struct report_view *view, FILE *stream);
