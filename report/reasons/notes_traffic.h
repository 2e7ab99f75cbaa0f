/* The sentences about memory traffic: what was traced or counted, and how sure it is. */
#pragma once

#include "report/rows/view.h"

#include <stdio.h>

/* Writes a sentence, as of printf, to the stream that report_notes collects; the text need not be
 * clean.  Errors are the stream's: report_notes sees them when it closes it. */
#define note(stream, ...) (fprintf(stream, __VA_ARGS__), (void)fputc('\0', stream))
/* The same of a sentence that changes what one would decide, and so is shown unasked. */
#define note_first(stream, ...) ((void)fputc(NOTE_FIRST, stream), note(stream, __VA_ARGS__))
#define NOTE_FIRST '\1' /* before its text; no text has it */

void report_note_traffic(const struct report_view *view, FILE *notes);
