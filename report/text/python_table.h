/* The table of Python functions. */
#pragma once

#include "report/rows/view.h"

/* Python functions by their own time, and how much of all time they are; or that there are none.
 * Fails only when memory is short. */
struct rf_error *report_python(const struct report_view *view, FILE *stream);
