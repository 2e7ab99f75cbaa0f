/* What stands in the cells of several tables. */
#pragma once

#include "report/model/model.h"
#include "report/text/terminal.h"

/* Cells are texts of 64 bytes; what fills one returns it. */

/* "0.316 s", "–" for NAN; in a unit that fits `longest`, so that a column can be read downward. */
const char *report_put_time(char *cell, double seconds, double longest);
/* "5 %", "0.3 %" of a share from 0 to 1. */
const char *report_put_share(char *cell, double share);
/* What a bound looks like in colour. */
enum style report_bound_style(const struct model_place *place);
/* The key of a rank in plot and table: 1 to 9, a to z, A to Z; 0 behind these. */
char report_plot_key(size_t rank);
