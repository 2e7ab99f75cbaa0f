/* Draws a chart with characters. */
#pragma once

#include "report/chart/chart.h"
#include "report/text/terminal.h"

/* As wide as the terminal, within bounds.  Fails only when memory is short. */
struct rf_error *chart_text(const struct chart *chart, const struct terminal *terminal,
			    FILE *stream);
