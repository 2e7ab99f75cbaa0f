/* The sentences about the rows: what their marks mean, and what rows are. */
#include "report/reasons/notes_rows.h"

#include "base/text.h"
#include "report/reasons/above.h"
#include "report/reasons/notes_traffic.h"

#include <math.h>
#include <string.h>

#define MAX_MASKED 3
#define MAX_ABOVE 3

/* Active and all lanes where they differ by more than 1 % (docs/work.md). */
static void note_masked(const struct report_view *view, FILE *notes)
{
	size_t noted = 0;
	for (size_t i = 0; i < view->n_shown && noted < MAX_MASKED; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const double active = (double)f->tally.flop, all = (double)f->tally.flop_unmasked;
		if (all <= 1.01 * active)
			continue;
		noted++;
		note(notes,
		     "%.60s: %s Gflop in active lanes, %s Gflop in all lanes (what a hardware "
		     "counter shows)",
		     f->name, REPORT_NUMBER(active * 1e-9), REPORT_NUMBER(all * 1e-9));
	}
}

/* The next row from `i` on that is above its roof, for that reason unless it is NULL. */
static size_t next_above(const struct report_view *view, size_t i, const char *why)
{
	for (; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (f->place.above && (!why || strcmp(report_above_reason(view, f).why, why) == 0))
			break;
	}
	return i;
}

/* Which rows are above their roofs, together by the reason. */
static void note_above(const struct report_view *view, FILE *notes)
{
	for (size_t i = 0; (i = next_above(view, i, NULL)) < view->n_shown; i++) {
		const char *why =
			report_above_reason(view, &view->model->functions[view->rank[i]]).why;
		size_t n = 0;
		if (next_above(view, 0, why) < i)
			continue;
		fputs("!: above the roof:", notes);
		for (size_t k = i; (k = next_above(view, k, why)) < view->n_shown; k++)
			if (n++ < MAX_ABOVE)
				fprintf(notes, "%s %.60s", n > 1 ? "," : "",
					view->model->functions[view->rank[k]].name);
		if (n > MAX_ABOVE)
			fprintf(notes, " and %zu more", n - MAX_ABOVE);
		note(notes, ": %s", why);
	}
}

static void note_marks(const struct report_view *view, FILE *notes)
{
	bool few = false, unsure = false;
	const char *borrowed = NULL;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		few |= f->n_samples > 0 && f->n_samples < MODEL_FEW_SAMPLES;
		unsure |= f->place.bound_or != BOUND_UNKNOWN;
		borrowed = borrowed ? borrowed : f->place.borrowed;
	}
	if (few)
		note(notes, "≈: fewer than %d samples, the time is rough", MODEL_FEW_SAMPLES);
	if (unsure)
		note(notes,
		     "?: elsewhere in the 95 %% interval of its time or bytes another bound holds; "
		     "--function says which");
	note_above(view, notes);
	if (borrowed)
		note(notes, "*: no roof of this precision was measured, %s precision's stands in",
		     borrowed);
	if (!view->profile->n_roofs)
		note_first(notes, "no roofs in this profile: no distances can be given");
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

/* Functions whose roof is not of a measured count of threads. */
static void note_interpolated(const struct report_view *view, FILE *notes)
{
	size_t n = 0;
	double least = INFINITY, greatest = 0;
	char fewest[TEXT_NUMBER], most[TEXT_NUMBER], range[2 * TEXT_NUMBER + 48];
	int first, last, after_fewest, before_most;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!f->place.interpolated)
			continue;
		least = fmin(least, f->concurrency);
		greatest = fmax(greatest, f->concurrency);
		n++;
	}
	if (!n)
		return;
	text_number(fewest, least);
	text_number(most, greatest);
	const bool one = strcmp(fewest, most) == 0;
	snprintf(range, sizeof(range), "%s%s%s threads (%zu %s)", fewest, one ? "" : " to ",
		 one ? "" : most, n, n == 1 ? "row" : "rows");
	neighbours(view->profile, least, &first, &after_fewest);
	neighbours(view->profile, greatest, &before_most, &last);
	if (!first || !last)
		note(notes,
		     "roofs at %s are those of the nearest measured counts, or interpolated "
		     "between them",
		     range);
	else
		note(notes, "roofs at %s are interpolated between the measured counts %d %s %d",
		     range, first, first == before_most ? "and" : "to", last);
}

/* (q3 - q1) / median */
static double spread_of(const struct roof *roof)
{
	return roof->median > 0 ? (roof->q3 - roof->q1) / roof->median : 0;
}

/* Whether a row of those that are shown before the i-th rests on that roof. */
static bool is_behind_earlier(const struct report_view *view, size_t i, const struct roof *roof)
{
	while (i-- > 0)
		if (view->model->functions[view->rank[i]].place.noisy == roof)
			return true;
	return false;
}

/* The noisiest of the roofs behind the rows. */
static void note_noisy(const struct report_view *view, FILE *notes)
{
	const struct roof *worst = NULL;
	size_t n = 0;
	char name[64], others[48] = "";
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct roof *roof = view->model->functions[view->rank[i]].place.noisy;
		if (!roof || is_behind_earlier(view, i, roof))
			continue;
		n++;
		if (!worst || spread_of(roof) > spread_of(worst))
			worst = roof;
	}
	if (!worst)
		return;
	if (worst->kind != ROOF_COMPUTE)
		snprintf(name, sizeof(name), "%s %s", roof_level_name(worst->level),
			 roof_op_name(worst->op));
	else
		snprintf(name, sizeof(name), "%s %s %s", roof_isa_name(worst->isa),
			 roof_precision_name(worst->precision), roof_op_name(worst->op));
	if (n > 1)
		snprintf(others, sizeof(others), ", and %zu more", n - 1);
	note(notes, "the %s roof at %d thread%s is noisy (quartiles %.0f %% apart)%s", name,
	     worst->threads, worst->threads == 1 ? "" : "s", 100 * spread_of(worst), others);
}

void report_note_rows(const struct report_view *view, FILE *notes)
{
	note_masked(view, notes);
	note_marks(view, notes);
	note_interpolated(view, notes);
	note_noisy(view, notes);
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
