/* The call paths of a page, as one element of JSON: its flame graph, and who calls whom. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* Nothing where there are no samples.  Errors: memory is short. */
struct rf_error *html_write_calls(const struct report_view *view, FILE *stream);
