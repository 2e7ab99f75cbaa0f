/* One page with all of it. */
#pragma once

#include "report/rows/view.h"

/* options->html_compare: the profile that it is compared with, or NULL. */
struct rf_error *report_html(const struct report_view *view, FILE *stream);
