/* The sentences about what was not counted. */
#include "report/reasons/notes_uncounted.h"

#include "base/text.h"

#include <string.h>

#define MAX_REASONS 5 /* of each kind */

/* The causes of uncounted time, each with its share. */
static struct rf_error *note_causes(struct report_view *view)
{
	const struct model *model = view->model;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < model->n_uncounted && i < MAX_REASONS; i++) {
		const struct model_uncounted *part = &model->uncounted[i];
		const bool named = part->name[0];
		error = report_note(view, "not counted, %.1f %% of the time: %s%s%s%s%s",
				    100 * (double)part->time_ns / (double)model->time_ns,
				    named ? part->kind : "", named ? " " : "", part->name,
				    named ? ": " : "", part->reason);
	}
	if (!error && model->n_uncounted > MAX_REASONS)
		error = report_note(view, "and %zu more (\"uncounted\" in the JSON report)",
				    model->n_uncounted - MAX_REASONS);
	return error;
}

bool report_has_time(const struct model *model, const char *reason)
{
	for (size_t i = 0; i < model->n_uncounted; i++)
		if (strcmp(model->uncounted[i].reason, reason) == 0)
			return true;
	return false;
}

/* Reasons for which no time was seen. */
static struct rf_error *note_reasons(struct report_view *view)
{
	const struct profile *profile = view->profile;
	struct rf_error *error = NULL;
	size_t n = 0;
	for (size_t i = 0; !error && i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		const bool has_module = row->module != PROFILE_NONE;
		if (report_has_time(view->model, row->reason) || n++ >= MAX_REASONS)
			continue;
		error = report_note(view, "not counted: %s%s%s",
				    has_module ? profile->modules[row->module].name : "",
				    has_module ? ": " : "", row->reason);
	}
	if (!error && n > MAX_REASONS)
		error = report_note(view,
				    "and %zu more reasons (table \"uncounted\" of the profile)",
				    n - MAX_REASONS);
	return error;
}

struct rf_error *report_note_uncounted(struct report_view *view)
{
	const struct model *model = view->model;
	char number[TEXT_NUMBER];
	struct rf_error *error = NULL;
	if (model->uncounted_ns > 0)
		error = report_note(view,
				    "not counted: %s s of CPU time (%.1f %%), in all; what was "
				    "done in that time is not known",
				    text_number(number, (double)model->uncounted_ns * 1e-9),
				    100 * (double)model->uncounted_ns / (double)model->time_ns);
	if (!error)
		error = note_causes(view);
	if (!error)
		error = note_reasons(view);
	if (!error && model->unreadable_blocks)
		error = report_note(
			view,
			"%zu blocks end early: they hold an instruction that rfprof cannot decode",
			model->unreadable_blocks);
	if (!error && model->unmatched_units)
		error = report_note(
			view,
			"%zu run-time counts belong to no counted instruction and were left out",
			model->unmatched_units);
	return error;
}
