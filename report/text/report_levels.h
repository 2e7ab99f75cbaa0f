/* What moved at every level (--levels). */
#pragma once

#include "report/rows/view.h"

/* Fails only when memory is short. */
struct rf_error *report_levels(const struct report_view *view, FILE *stream);
