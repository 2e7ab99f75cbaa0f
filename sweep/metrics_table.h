/* The metrics of Gravelle's dissertation (2022), table 9, with a column for each point. */
#pragma once

#include "report/text/terminal.h"
#include "sweep/series.h"

/* Tables of as many columns as fit, and a line on each definition that differs from that table's.
 * `clock_ghz`: cycles are time × clock.  Fails only when memory is short. */
struct rf_error *metrics_table(const struct gathered *gathered, double clock_ghz,
			       const struct terminal *terminal, FILE *stream);

/* One figure of it, by call; NAN: not known. */
struct metrics_row {
	const char *name, *key; /* as in [G]; of JSON */
	double (*value)(const struct series_point *point, double clock_ghz);
	bool bytes;
	bool is_asked_for; /* it is known, and has a row, where an option asks for it */
};
extern const struct metrics_row metrics_rows[];
extern const size_t n_metrics_rows;
