/* The sentences about the rows of the table: what their marks mean, and what rows are. */
#include "report/reasons/notes_rows.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MASKED 3

/* Active and all lanes where they differ by more than 1 % (MODEL, "Work"). */
static struct rf_error *note_masked(struct report_view *view)
{
	size_t noted = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->n_shown && noted < MAX_MASKED; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const double active = (double)f->tally.flop, all = (double)f->tally.flop_unmasked;
		char a[TEXT_NUMBER], b[TEXT_NUMBER];
		if (all <= 1.01 * active)
			continue;
		noted++;
		error = report_note(view,
				    "%.60s: %s Gflop in active lanes, %s Gflop in all lanes (what "
				    "a hardware counter shows)",
				    f->name, text_number(a, active * 1e-9),
				    text_number(b, all * 1e-9));
	}
	return error;
}

struct marks {
	size_t few, above, borrowed;
	const char *precision;
};

static struct marks count_marks(const struct report_view *view)
{
	struct marks marks = {0};
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		marks.few += f->n_samples > 0 && f->n_samples < MODEL_FEW_SAMPLES;
		marks.above += f->place.above;
		if (f->place.borrowed && !marks.borrowed++)
			marks.precision = f->place.borrowed;
	}
	return marks;
}

static struct rf_error *note_marks(struct report_view *view)
{
	const struct marks marks = count_marks(view);
	struct rf_error *error = NULL;
	if (marks.few)
		error = report_note(view, "≈: fewer than %d samples, the time is rough",
				    MODEL_FEW_SAMPLES);
	if (!error && marks.above)
		error = report_note(view, "above roof!: a fault of the roofs or of the times, not "
					  "a feat; measure the roofs again, and check that both "
					  "runs did the same work");
	if (!error && marks.borrowed)
		error = report_note(
			view, "*: no roof of this precision was measured, %s precision's stands in",
			marks.precision);
	if (!error && !view->profile->n_roofs)
		error = report_note(view, "no roofs in this profile: no distances can be given");
	return error;
}

/* ---- roofs ---- */

/* Functions whose roof is not of a measured count of threads. */
struct interpolated {
	size_t n;
	double fewest, most;
};

static struct interpolated count_interpolated(const struct report_view *view)
{
	struct interpolated found = {0};
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!f->place.interpolated)
			continue;
		found.fewest = found.n ? fmin(found.fewest, f->concurrency) : f->concurrency;
		found.most = fmax(found.most, f->concurrency);
		found.n++;
	}
	return found;
}

/* The measured counts next to `threads`; 0: none on that side. */
static void neighbours(const struct profile *profile, double threads, int *below, int *above)
{
	*below = *above = 0;
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const struct roof *roof = &profile->roofs[i];
		if (roof->by_node)
			continue;
		if (roof->threads <= threads && roof->threads > *below)
			*below = roof->threads;
		if (roof->threads >= threads && (!*above || roof->threads < *above))
			*above = roof->threads;
	}
}

static struct rf_error *note_interpolated(struct report_view *view)
{
	const struct interpolated found = count_interpolated(view);
	const char *rows = found.n == 1 ? "row" : "rows";
	char fewest[TEXT_NUMBER], most[TEXT_NUMBER], range[2 * TEXT_NUMBER + 8];
	int first, last, after_fewest, before_most;
	if (!found.n)
		return NULL;
	text_number(fewest, found.fewest);
	text_number(most, found.most);
	const bool one = strcmp(fewest, most) == 0;
	snprintf(range, sizeof(range), "%s%s%s", fewest, one ? "" : " to ", one ? "" : most);
	neighbours(view->profile, found.fewest, &first, &after_fewest);
	neighbours(view->profile, found.most, &before_most, &last);
	if (!first || !last)
		return report_note(view,
				   "roofs at %s threads (%zu %s) are those of the nearest measured "
				   "counts, or interpolated between them",
				   range, found.n, rows);
	return report_note(view,
			   "roofs at %s threads (%zu %s) are interpolated between the measured "
			   "counts %d %s %d",
			   range, found.n, rows, first, first == before_most ? "and" : "to", last);
}

/* (q3 - q1) / median */
static double spread_of(const struct roof *roof)
{
	return roof->median > 0 ? (roof->q3 - roof->q1) / roof->median : 0;
}

/* The noisiest of the roofs behind the rows. */
struct noisy {
	const struct roof *worst; /* or NULL: none is noisy */
	size_t n;
};

static struct rf_error *find_noisy(const struct report_view *view, struct noisy *noisy)
{
	const struct roof *roofs = view->profile->roofs;
	bool *used = calloc(view->profile->n_roofs + 1, sizeof(*used));
	*noisy = (struct noisy){0};
	if (!used)
		return rf_error_no_memory();
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct roof *row = view->model->functions[view->rank[i]].place.noisy;
		if (!row || used[row - roofs])
			continue;
		used[row - roofs] = true;
		noisy->n++;
		if (!noisy->worst || spread_of(row) > spread_of(noisy->worst))
			noisy->worst = row;
	}
	free(used);
	return NULL;
}

static struct rf_error *note_noisy(struct report_view *view)
{
	struct noisy noisy;
	char name[64], others[48] = "";
	struct rf_error *error = find_noisy(view, &noisy);
	const struct roof *row = noisy.worst;
	if (error || !row)
		return error;
	if (row->kind == ROOF_BANDWIDTH)
		snprintf(name, sizeof(name), "%s %s", roof_level_name(row->level),
			 roof_op_name(row->op));
	else
		snprintf(name, sizeof(name), "%s %s %s", roof_isa_name(row->isa),
			 roof_precision_name(row->precision), roof_op_name(row->op));
	if (noisy.n > 1)
		snprintf(others, sizeof(others), ", and %zu more", noisy.n - 1);
	return report_note(view, "the %s roof at %d thread%s is noisy (quartiles %.0f %% apart)%s",
			   name, row->threads, row->threads == 1 ? "" : "s", 100 * spread_of(row),
			   others);
}

struct rf_error *report_note_rows(struct report_view *view)
{
	struct rf_error *error = note_masked(view);
	if (!error)
		error = note_marks(view);
	if (!error)
		error = note_interpolated(view);
	return error ? error : note_noisy(view);
}

const char *report_rows_hint(const struct report_view *view)
{
	if (!view->shaped)
		return NULL;
	if (view->options->by == BY_LINE && !view->profile->n_lines)
		return "this profile has no source lines: the program has no debug information, or "
		       "it was recorded by an older rfprof; rows are functions";
	if (view->options->by == BY_INLINED && !view->profile->n_inlined_code)
		return "this profile has no inlined functions: the program has no debug "
		       "information, or none were inlined, or it was recorded by an older rfprof; "
		       "rows are functions";
	if (view->options->by == BY_CALL_PATH)
		return "work is counted by function, not by path: speeds and roofs are those of a "
		       "path's last function, its headroom is divided by time";
	return NULL;
}
