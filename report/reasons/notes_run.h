/* The sentences about the two runs: where times and counts are from, and how the runs went. */
#pragma once

#include "report/reasons/note.h"

/* Where time and work are from. */
struct rf_error *report_note_sources(struct report_view *view);
/* How the runs ended, and what of them is missing. */
struct rf_error *report_note_run(struct report_view *view);
