/* One sentence under the table. */
#pragma once

#include "report/rows/view.h"

/* Adds it to view->notes; the text need not be clean.  Fails only when memory is short, as all that
 * adds notes. */
struct rf_error *report_note(struct report_view *view, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void report_notes_deinit(struct report_view *view);
