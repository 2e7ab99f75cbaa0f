/* The sentences about hardware counters. */
#pragma once

#include "report/reasons/note.h"

struct rf_error *report_note_counters(struct report_view *view);
/* About memory traffic by the PMU. */
struct rf_error *report_note_memory(struct report_view *view);
