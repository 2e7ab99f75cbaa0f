/* The report in the terminal. */
#pragma once

#include "report/rows/view.h"

/* terminal_report.c: all that is asked for, to `stream`. */
struct rf_error *report_terminal(const struct report_view *plain, FILE *stream);
