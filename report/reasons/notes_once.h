/* The sentences about runs that are no pair: timed while they were counted, only timed, or only
 * counted. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* As report_note_traffic. */
void report_note_once(const struct report_view *view, FILE *notes);
