/* One sentence under the table. */
#include "report/reasons/note.h"

#include "base/array.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>

struct rf_error *report_note(struct report_view *view, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	const int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	char *clean = length < 0 ? NULL : text_clean(text);
	if (length >= 0)
		free(text);
	if (clean && rf_array_push(view->notes, view->n_notes, view->cap_notes, clean))
		return NULL;
	free(clean);
	return rf_error_no_memory();
}

void report_notes_deinit(struct report_view *view)
{
	for (size_t i = 0; i < view->n_notes; i++)
		free(view->notes[i]);
	free(view->notes);
	view->notes = NULL;
	view->n_notes = view->cap_notes = 0;
}
