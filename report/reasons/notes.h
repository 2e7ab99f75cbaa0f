/* The sentences under the table: how each figure was obtained, and what it leaves out. */
#pragma once

#include "report/reasons/note.h"

/* Fills view->notes, which report_notes_deinit frees, also after an error. */
struct rf_error *report_notes(struct report_view *view);
