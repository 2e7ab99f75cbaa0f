/* Draws a chart as SVG. */
#pragma once

#include "report/chart/chart.h"

/* A whole SVG document.  Fails only when memory is short. */
struct rf_error *chart_svg(const struct chart *chart, FILE *stream);
