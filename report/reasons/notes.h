/* The sentences under the table: how each figure was obtained, and what it leaves out. */
#pragma once

#include "report/rows/view.h"

/* Fills view->notes, which report_notes_deinit frees, also after an error: that is one only when
 * memory is short. */
struct rf_error *report_notes(struct report_view *view);
void report_notes_deinit(struct report_view *view);
/* Whether time was seen that was not counted for this reason. */
bool report_has_time(const struct model *model, const char *reason);
