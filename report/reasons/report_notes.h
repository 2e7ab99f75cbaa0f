/* The sentences under the table. */
#pragma once

#include "report/rows/view.h"

/* Whether time was seen that was not counted for this reason. */
bool report_has_time(const struct model *model, const char *reason);
struct rf_error *report_notes(struct report_view *view);
/* Adds one; false when memory is short. */
bool report_note(struct report_view *view, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "the 96.0 MB that main (mesh.c:88) allocates"; not clean. */
void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size);
void report_notes_deinit(struct report_view *view);
