/* The table of what would move in another machine's caches. */
#pragma once

#include "report/rows/view.h"

/* Nothing where no such caches were simulated.  Fails only when memory is short. */
struct rf_error *report_other_caches(const struct report_view *view, FILE *stream);
