/* The roofline plot, drawn with characters (--plot). */
#pragma once

#include "report/rows/view.h"

/* Fails only when memory is short. */
struct rf_error *report_plot(const struct report_view *view, FILE *stream);
