/* The sentences about memory traffic: what was traced or counted, and how sure it is. */
#pragma once

#include "report/reasons/note.h"

struct rf_error *report_note_traffic(struct report_view *view);
