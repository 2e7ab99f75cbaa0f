/* The sentences under the table: how each figure was obtained, and what it leaves out. */
#include "report/reasons/notes.h"

#include "report/reasons/notes_counters.h"
#include "report/reasons/notes_rows.h"
#include "report/reasons/notes_run.h"
#include "report/reasons/notes_traffic.h"
#include "report/reasons/notes_uncounted.h"

#include <string.h>

/* What the run itself has noted: facts "note.…". */
static struct rf_error *note_facts(struct report_view *view)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->profile->n_facts; i++)
		if (strncmp(view->profile->facts[i].key, "note.", 5) == 0)
			error = report_note(view, "%s", view->profile->facts[i].value);
	return error;
}

struct rf_error *report_notes(struct report_view *view)
{
	static struct rf_error *(*const notes[])(struct report_view * view) = {
		report_note_sources, report_note_counters,
		report_note_traffic, report_note_uncounted,
		report_note_run,     report_note_rows,
		note_facts,
	};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < sizeof(notes) / sizeof(*notes); i++)
		error = notes[i](view);
	return error;
}
