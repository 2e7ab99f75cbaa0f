/* The roofline plot as SVG. */
#pragma once

#include "report/rows/view.h"

struct rf_error *report_svg(const struct report_view *view, FILE *stream);
