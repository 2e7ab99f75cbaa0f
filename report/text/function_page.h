/* A page about one function: where it stands, why, and what one would try (--function). */
#pragma once

#include "report/rows/view.h"

/* Of the function that options->function names.  An error where none or several are meant. */
struct rf_error *report_function_page(const struct report_view *plain, FILE *stream);
