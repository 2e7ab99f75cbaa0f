/* The ranked table of functions. */
#pragma once

#include "report/rows/view.h"
#include "report/text/terminal.h"

/* table.c: the line above the table. */
bool report_head(const struct report_view *view, FILE *stream);

/* table.c: the ranked functions alone. */
struct rf_error *report_functions(const struct report_view *view, FILE *stream);
/* What a bound looks like in colour. */
enum style report_bound_style(const struct model_place *place);
/* "0.316 s", in 64 bytes, in a unit that fits `longest`. */
void report_put_time(char *cell, double seconds, double longest);
void report_put_share(char *cell, double share);
