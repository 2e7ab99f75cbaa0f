/* Two profiles in one plot. */
#pragma once

#include "report/diff/diff.h"

#include <stdio.h>

/* B's roofs, with arrows from A's points to B's; top: pairs, 0: 20.  Fails only when memory is
 * short. */
struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream);
