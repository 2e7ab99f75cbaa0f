/* The sentences about memory traffic: what was traced or counted, and how sure it is. */
#pragma once

#include "report/rows/view.h"

void report_note_traffic(const struct report_view *view, FILE *notes);
