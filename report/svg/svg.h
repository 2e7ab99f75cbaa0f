/* The roofline plot as SVG. */
#pragma once

#include "report/rows/view.h"

struct rf_error *report_svg(const struct report_view *view, FILE *stream);
/* Two profiles in one plot: B's roofs, with arrows from A's points to B's; top: pairs, 0: 20. Fails
 * only when memory is short. */
struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream);
