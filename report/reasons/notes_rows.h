/* The sentences about the rows: what their marks mean, and what rows are. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* As report_note_traffic. */
void report_note_rows(const struct report_view *view, FILE *notes);
/* What is particular about rows that are not functions, for the line behind the table, or NULL. */
const char *report_rows_hint(const struct report_view *view);
