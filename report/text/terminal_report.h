/* The report in the terminal. */
#pragma once

#include "report/rows/view.h"

/* All that is asked for, to `stream`. */
struct rf_error *report_terminal(const struct report_view *plain, FILE *stream);
