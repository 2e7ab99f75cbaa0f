/* The roofline plot, drawn with characters. */
#pragma once

#include "report/rows/view.h"

/* plot_text.c: the roofline plot (--plot). */
struct rf_error *report_plot(const struct report_view *view, FILE *stream);
/* The key of a rank in plot and table: 1 to 9, a to z, A to Z; 0 behind these. */
char report_plot_key(size_t rank);
/* Where the plot puts a function, across. */
double report_plot_intensity(const struct report_view *view, const struct model_function *f);
