/* The sentences about the two runs: where times and counts are from, and how the runs went. */
#include "report/reasons/notes_run.h"

#include "base/text.h"

#include <string.h>

static struct rf_error *note_incomplete(struct report_view *view)
{
	const char *incomplete = profile_get_fact(view->profile, "counts_incomplete");
	return !incomplete || !view->model->counted
		       ? NULL
		       : report_note(view,
				     "INCOMPLETE COUNTS (%s): work, bytes and speeds are lower "
				     "bounds, distances and headroom upper bounds",
				     incomplete);
}

static struct rf_error *note_time_and_work(struct report_view *view)
{
	const char *time = profile_get_fact(view->profile, "time_source");
	const char *work = profile_get_fact(view->profile, "work_source");
	const unsigned long long n = view->model->n_samples;
	const double cost_us = 1e-3 * profile_number_fact(view->profile, "sample_cost_ns", 0);
	char number[TEXT_NUMBER], cost[TEXT_NUMBER], every[128] = "";
	if (n > 0 && cost_us >= 0.1)
		snprintf(every, sizeof(every),
			 ", one per %s ms of CPU time, their own %s us each taken off",
			 text_number(number, 1e-6 * view->model->time_ns / n),
			 text_number(cost, cost_us));
	else if (n > 0)
		snprintf(every, sizeof(every), ", one per %s ms of CPU time",
			 text_number(number, 1e-6 * view->model->time_ns / n));
	const char *how = !view->model->counted                                  ? ""
			  : profile_get_fact(view->profile, "counts_incomplete") ? " (incomplete)"
			  : model_from_counters(view->profile)                   ? " (sampled)"
										 : " (exact)";
	return report_note(view, "time: %s, %llu sample%s%s; work and bytes: %s%s",
			   time ? time : "unknown source", n, n == 1 ? "" : "s", every,
			   work ? work : "unknown source", how);
}

static struct rf_error *note_inferred(struct report_view *view)
{
	bool inferred = false;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_place *place = &view->model->functions[view->rank[i]].place;
		inferred |= place->level[0] && !place->traced;
	}
	return inferred ? report_note(view,
				      "~LEVEL: not measured but inferred, the slowest level whose "
				      "roof is not below the point; \"below\" and \"headroom\" are "
				      "the least that they can be")
			: NULL;
}

struct rf_error *report_note_sources(struct report_view *view)
{
	struct rf_error *error = note_incomplete(view);
	if (!error)
		error = note_time_and_work(view);
	return error ? error : note_inferred(view);
}

static bool has_fact(const struct profile *profile, const char *key, const char *value)
{
	const char *fact = profile_get_fact(profile, key);
	return fact && strcmp(fact, value) == 0;
}

/* Whether both runs wrote and ended the same. */
static struct rf_error *note_same(struct report_view *view)
{
	const char *out = profile_get_fact(view->profile, "stdout_same");
	struct rf_error *error = NULL;
	if (out && strcmp(out, "different") == 0)
		error = report_note(view, "the two runs wrote different output: time and work may "
					  "not belong together");
	else if (out && strcmp(out, "same") != 0)
		error = report_note(view, "standard output of the two runs was not compared: %s",
				    strncmp(out, "unknown: ", 9) == 0 ? out + 9 : "");
	if (!error && has_fact(view->profile, "exit_same", "different"))
		error = report_note(view, "the two runs ended differently: time and work may not "
					  "belong together");
	return error;
}

static struct rf_error *note_lost(struct report_view *view)
{
	const double unsampled = profile_number_fact(view->profile, "unsampled_threads", 0);
	const double lost = profile_number_fact(view->profile, "lost_samples", 0);
	struct rf_error *error = NULL;
	if (unsampled > 0)
		error = report_note(view,
				    "%.0f threads could not be sampled: their time is missing",
				    unsampled);
	if (!error && lost > 0)
		error = report_note(view, "%.0f samples were lost: times are that much too short",
				    lost);
	return error;
}

struct rf_error *report_note_run(struct report_view *view)
{
	const struct profile *profile = view->profile;
	const char *status = profile_get_fact(profile, "exit_status");
	struct rf_error *error = NULL;
	if (has_fact(profile, "no_children", "1"))
		error = report_note(view, "--no-children: processes that the program started are "
					  "neither timed nor counted");
	if (!error && has_fact(profile, "once", "1"))
		error = report_note(view,
				    "one counted run (--once): the times include the counting");
	if (!error && status && strcmp(status, "0") != 0)
		error = report_note(view, "the program ended with %s%s",
				    strncmp(status, "signal", 6) == 0 ? "" : "exit status ",
				    status);
	if (!error)
		error = note_same(view);
	return error ? error : note_lost(view);
}
