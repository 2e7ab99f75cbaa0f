/* The roofline plot as SVG. */
#pragma once

#include "report/rows/view.h"

struct rf_error *report_svg(const struct report_view *view, FILE *stream);
/* The same, with a line from each shown row to the next where both have the same number in `lines`
 * (by row of the model); NULL: none. */
struct rf_error *report_svg_lines(const struct report_view *view, const uint32_t *lines,
				  FILE *stream);
/* Two profiles in one plot: B's roofs, with arrows from A's points to B's; top: pairs, 0: 20. Fails
 * only when memory is short. */
struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream);
