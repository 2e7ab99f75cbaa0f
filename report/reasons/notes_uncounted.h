/* The sentences about what was not counted. */
#pragma once

#include "report/reasons/note.h"

/* Whether time was seen that was not counted for this reason. */
bool report_has_time(const struct model *model, const char *reason);
struct rf_error *report_note_uncounted(struct report_view *view);
