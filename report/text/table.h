/* The ranked table of functions, and the line above it. */
#pragma once

#include "report/rows/view.h"

/* The line above the table: program, threads, time, roofs. */
struct rf_error *report_head(const struct report_view *view, FILE *stream);
/* The ranked functions alone.  Both fail only when memory is short. */
struct rf_error *report_functions(const struct report_view *view, FILE *stream);
