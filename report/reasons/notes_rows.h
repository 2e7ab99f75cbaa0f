/* The sentences about the rows of the table: what their marks mean, and what rows are. */
#pragma once

#include "report/reasons/note.h"

struct rf_error *report_note_rows(struct report_view *view);
/* What is particular about rows that are not functions, for the line behind the table, or NULL. */
const char *report_rows_hint(const struct report_view *view);
