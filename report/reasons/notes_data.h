/* The sentences about whose data move, and what would fit. */
#pragma once

#include "report/reasons/note.h"

/* Of the functions with most memory traffic. */
struct rf_error *report_note_data(struct report_view *view);
