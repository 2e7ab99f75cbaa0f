/* One page with all of it. */
#pragma once

#include "report/rows/view.h"

struct rf_error *report_html(const struct report_view *view, FILE *stream);
