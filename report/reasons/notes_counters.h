/* The sentences about hardware counters. */
#pragma once

#include "report/rows/view.h"

/* report_counters.c: those about hardware counters. */
bool report_note_counters(struct report_view *view);
/* And about memory traffic by the PMU. */
bool report_note_memory(struct report_view *view);
