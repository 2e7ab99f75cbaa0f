/* A page about one function: where it stands, why, and what one would try (--function). */
#include "report/text/function_page.h"

#include "base/search.h"
#include "base/text.h"
#include "report/model/model_bandwidths.h"
#include "report/model/model_mix.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/find_function.h"
#include "report/text/function_shares.h"
#include "report/text/report_ecm.h"
#include "report/text/report_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOOPS 12
#define LEAST_CONFLICTS 0.05 /* of the memory traffic, to be told */

/* ---- where it stands ---- */

static const char *unit_of(const struct model_place *place)
{
	return place->axis == AXIS_FLOP    ? "GFLOP/s"
	       : place->axis == AXIS_BYTES ? "GB/s"
					   : "G instructions/s";
}

static void put_head(struct page *page)
{
	const struct model_function *f = page->f;
	const struct model_place *place = &f->place;
	const struct profile *profile = page->view->profile;
	char time[64], saved[64], of_roof[64], point[TEXT_NUMBER], roof[TEXT_NUMBER],
		threads[TEXT_NUMBER];
	char where[192] = "", bound[64] = "", words[64], runs[96] = "";
	if (f->function != PROFILE_NONE)
		(void)report_line_at(profile, profile->functions[f->function].module,
				     profile->functions[f->function].start, where, sizeof(where));
	page_line(page, STYLE_HEAD, "", "%s", f->name);
	page_line(page, STYLE_DIM, "  ", "%s%s%s", f->module, where[0] ? " · " : "", where);
	report_put_time(time, (double)f->time_ns * 1e-9, (double)f->time_ns * 1e-9);
	if (f->runs.n) {
		char least[64], most[64];
		const double longest = f->runs.s.most;
		snprintf(runs, sizeof(runs), " (%zu runs: %s … %s)", f->runs.n,
			 report_put_time(least, f->runs.s.least, longest),
			 report_put_time(most, f->runs.s.most, longest));
	}
	page_line(page, STYLE_PLAIN, "  ",
		  "%s of time%s, %.1f %% of the program's, %llu samples, on %s thread%s at once",
		  time, runs, 100 * f->share, (unsigned long long)f->n_samples,
		  text_number(threads, f->concurrency), f->concurrency >= 1.005 ? "s" : "");
	if (place->axis == AXIS_NONE || !(place->roof > 0))
		return;
	report_put_time(saved, place->headroom_s, (double)f->time_ns * 1e-9);
	if (place->bound == BOUND_MEMORY || place->bound == BOUND_LATENCY ||
	    place->bound == BOUND_BALANCED)
		snprintf(bound, sizeof(bound), "%s%s", place->level[0] ? " " : "", place->level);
	text_number(point, place->point);
	text_number(roof, place->roof);
	report_put_of_roof(of_roof, "", place->distance);
	if (place->above)
		page_line(page, STYLE_FAULT, "  ",
			  "%s %s, above its roof of %s: %s of it, %s bound%s", point,
			  unit_of(place), roof, of_roof,
			  report_bound_words(place, words, sizeof(words)), bound);
	else
		page_line(page, report_bound_style(place), "  ",
			  "%s %s, %s of the %s that its roof allows, %s bound%s; at the roof it "
			  "would save %s",
			  point, unit_of(place), of_roof, roof,
			  report_bound_words(place, words, sizeof(words)), bound, saved);
}

/* What the roofs of the table are, and those of the same name in other views. */
static void put_level_roofs(struct page *page)
{
	const struct report_view *view = page->view;
	const struct model_level *level = report_level(view, page->f);
	const int threads = report_roof_threads(view);
	char text[160] = "";
	size_t used = 0;
	if (!level || !(level->bandwidth > 0))
		return;
	for (int d = 0; d < TRAFFIC_DIRECTIONS; d++) {
		const double most = model_level_most(view->profile, roof_level_find(level->name),
						     threads, (enum traffic_direction)d);
		if (most > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 used ? ", " : "",
						 report_mix_words((enum traffic_direction)d),
						 REPORT_NUMBER(most));
	}
	page_line(page, STYLE_DIM, "  · ",
		  "roof: the most GB/s of its own mix, at %s thread%s; %s with other mixes, at %d "
		  "thread%s: %s",
		  REPORT_NUMBER(page->f->concurrency), page->f->concurrency > 1 ? "s" : "",
		  level->name, threads, threads == 1 ? "" : "s", text);
}

static void put_levels(struct page *page)
{
	struct report_view one = *page->view;
	const size_t rank[] = {(size_t)(page->f - page->view->model->functions)};
	one.rank = rank;
	one.n_rank = one.n_shown = 1;
	if (!page->f->traffic)
		return;
	page_title(page, "at every level");
	page_fail(page, report_levels(&one, page->stream));
	put_level_roofs(page);
	const struct model_share *conflicts = &page->f->traffic->conflicts;
	char spread[32] = "";
	if (conflicts->halfwidth >= 0.005)
		snprintf(spread, sizeof(spread), " (± %.0f)", 100 * conflicts->halfwidth);
	if (conflicts->share >= LEAST_CONFLICTS)
		page_line(page, STYLE_PLAIN, "  ",
			  "%.0f %%%s of its memory traffic is conflicts of sets: a last cache of "
			  "the same size without sets would not have moved it",
			  100 * conflicts->share, spread);
}

/* ---- ceilings ---- */

static void put_ceiling(struct text_table *table, const struct model_place *place, double value,
			const char *what)
{
	char number[TEXT_NUMBER];
	if (!(value > 0) || !isfinite(value))
		return;
	text_table_row(table);
	text_table_text(table, 0, text_number(number, value));
	text_table_put(table, 1, STYLE_PLAIN, "%.0f %%", page_percent(place->point, value));
	text_table_text(table, 2, what);
}

/* "best double code; AVX2 FMA on 1 thread 16.0 flop a cycle" */
static void put_per_cycle(char *what, size_t size, const struct page *page, const char *precision)
{
	const struct profile *profile = page->view->profile;
	const int threads = report_roof_threads(page->view);
	const struct roof *row =
		model_peak_row(profile, model_roof_precision(page->f->precision), threads);
	const double rate = row ? roof_per_cycle(row, profile_number_fact(profile, "clock_ghz", 0),
						 profile_number_fact(profile, "clock_fp_ghz", 0))
				: NAN;
	if (isnan(rate))
		snprintf(what, size, "best %s code", precision);
	else
		snprintf(what, size, "best %s code; %s %s on %d thread%s %s flop a cycle",
			 precision, report_isa_name(row->isa), report_op_name(row->op), threads,
			 threads == 1 ? "" : "s", REPORT_NUMBER(rate));
}

/* From the best form of its work to worse ones, each where it is below the one before. */
static void put_own_ceilings(struct text_table *table, const struct profile *profile,
			     const struct model_function *f)
{
	struct model_lack lack;
	const struct {
		double value;
		const char *what;
	} ceilings[] = {
		{model_top(profile, f, &lack).value,
		 "its mix of additions, multiplications, divisions"},
		{model_width_ceiling(profile, f, WIDTH_TILE), "and fused no more than it is"},
		{model_mix_ceiling(profile, f), "and in its vector widths"},
		{model_width_ceiling(profile, f, WIDTH_SCALAR), "and without vectors"},
	};
	double above = INFINITY;
	for (size_t i = 0; i < sizeof(ceilings) / sizeof(*ceilings); i++) {
		if (i > 0 && ceilings[i].value > 0.995 * above)
			continue;
		above = ceilings[i].value;
		put_ceiling(table, &f->place, above, ceilings[i].what);
	}
}

static void put_ceilings(struct page *page)
{
	static const struct text_column columns[] = {{"GFLOP/s", true},
						     {"reached", true},
						     {"ceiling", false}};
	const struct model_function *f = page->f;
	const struct model_place *place = &f->place;
	const struct profile *profile = page->view->profile;
	const char *precision = model_precision_name(f->precision);
	char what[96];
	struct text_table table = page_table(page, columns, 2);
	if (place->axis != AXIS_FLOP)
		return;
	page_title(page, "roofs and ceilings");
	put_per_cycle(what, sizeof(what), page, precision);
	put_ceiling(&table, place,
		    model_best(profile, model_roof_precision(f->precision), f->concurrency), what);
	put_own_ceilings(&table, profile, f);
	for (size_t i = 0; f->traffic && i < f->traffic->n_levels; i++) {
		const struct model_level *level = &f->traffic->levels[i];
		if (!(level->roof > 0))
			continue;
		snprintf(what, sizeof(what), "roof: the best for its mix, with its bytes from %s",
			 level->name);
		put_ceiling(&table, place, level->roof, what);
	}
	page_fail(page, text_table_end(&table, page->stream));
}

/* ---- instructions ---- */

static void put_shares(struct page *page, const char *what, const double *shares,
		       const char *const *names, int n)
{
	char text[512] = "";
	size_t used = 0;
	for (int i = 0; i < n; i++)
		if (shares[i] >= 0.5)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %.0f %%",
						 used ? ", " : "", names[i], shares[i]);
	page_line(page, STYLE_PLAIN, "  ", "%s: %s", what, used ? text : "–");
}

static void put_instructions(struct page *page)
{
	static const char *const names[INSN_CLASSES] = {[INSN_OTHER] = "other",
							[INSN_MOVE] = "moves",
							[INSN_INTEGER] = "integer",
							[INSN_FP_ARITH] = "arithmetic",
							[INSN_FP_MOVE] = "shuffles and conversions",
							[INSN_BRANCH] = "branches",
							[INSN_CALL] = "calls",
							[INSN_RETURN] = "returns",
							[INSN_STRING] = "strings",
							[INSN_NOP] = "no-ops",
							[INSN_SYSTEM] = "system"};
	const struct tally *tally = &page->f->tally;
	const double all = (double)tally->instructions, ipc = page->evidence.ipc;
	double shares[INSN_CLASSES];
	char text[96] = "", count[TEXT_NUMBER];
	if (!tally->instructions)
		return;
	page_title(page, "instructions");
	for (int c = 0; c < INSN_CLASSES; c++)
		shares[c] = page_percent((double)tally->class_instructions[c], all);
	snprintf(text, sizeof(text), "%s G", text_number(count, all * 1e-9));
	put_shares(page, text, shares, names, INSN_CLASSES);
	snprintf(text, sizeof(text), "; %.2f a cycle of at most %.0f (at the measured clock)", ipc,
		 page->evidence.issue_width);
	page_line(page, STYLE_PLAIN, "  ", "%.0f %% load, %.0f %% store%s",
		  page_percent((double)tally->loads, all), page_percent((double)tally->stores, all),
		  isfinite(ipc) ? text : "");
}

static void put_flop(struct page *page)
{
	static const char *const widths[] = {"scalar", "128 bits", "256 bits", "512 bits", "tiles"};
	static const char *const kinds[] = {"additions", "multiplications", "fused multiply-adds",
					    "divisions", "square roots",    "others"};
	static const char *const precisions[] = {"half", "bfloat16", "single", "double", "x87"};
	const struct model_evidence *evidence = &page->evidence;
	char number[TEXT_NUMBER];
	if (!page->f->tally.flop)
		return;
	page_title(page, "arithmetic");
	page_line(page, STYLE_PLAIN, "  ", "%s Gflop",
		  text_number(number, (double)page->f->tally.flop * 1e-9));
	put_shares(page, "vector width", evidence->width, widths, FLOP_WIDTHS);
	put_shares(page, "kind", evidence->kind, kinds, FLOP_KINDS);
	put_shares(page, "precision", evidence->precision, precisions, FLOP_PRECISIONS);
}

/* ---- loops ---- */

static int by_time(const void *a, const void *b, void *context)
{
	const struct model_loop *loops = context, *x = &loops[*(const size_t *)a],
				*y = &loops[*(const size_t *)b];
	/* the last: an outer one before those within */
	return rf_compare(y->time_ns, x->time_ns)
		?: rf_compare(y->tally.instructions, x->tally.instructions) ?: rf_compare(x, y);
}

static void put_loop(struct page *page, struct text_table *table, size_t i, uint32_t call)
{
	const struct model_function *f = page->f;
	const struct model_loop *loop = &f->loops[i];
	const struct profile *profile = page->view->profile;
	const double elapsed = (double)loop->time_ns * 1e-9 / f->concurrency;
	const bool inlined = call != PROFILE_NONE;
	char cell[192];
	int depth = 0;
	for (uint32_t up = loop->parent; up != PROFILE_NONE && depth < 8; up = f->loops[up].parent)
		depth++;
	page_row(page, table, loop->time_ns, f->time_ns);
	report_loop_number(cell, f, i);
	text_table_put(table, 2, STYLE_PLAIN, "%*s%s", 2 * depth, "", cell);
	if (f->function != PROFILE_NONE &&
	    report_line_at(profile, profile->functions[f->function].module, loop->header, cell,
			   sizeof(cell)))
		text_table_put(table, 3, STYLE_PLAIN, "%s%s%s", cell, inlined ? ", in " : "",
			       inlined ? report_inlined_name(profile, call) : "");
	text_table_put(table, 4, STYLE_PLAIN, loop->turns < 1000000 ? "%.0f" : "%.3g",
		       (double)loop->turns);
	text_table_text(table, 5,
			text_number(cell, loop->entries > 0
						  ? (double)loop->turns / (double)loop->entries
						  : NAN));
	text_table_text(table, 6,
			text_number(cell, loop->tally.flop && elapsed > 0
						  ? (double)loop->tally.flop * 1e-9 / elapsed
						  : NAN));
	text_table_text(table, 7,
			report_put_bytes(cell, page->view->model->traced
						       ? loop->bytes->mem[DIRECTION_BOTH].bytes
						       : NAN));
}

/* A loop stands before the loops within it; of loops side by side the one with most time comes
 * first. */
static void put_loops_in(struct page *page, struct text_table *table, const size_t *ranked,
			 const uint32_t *calls, uint32_t parent, int depth)
{
	const struct model_function *f = page->f;
	const size_t n = f->n_loops < MAX_LOOPS ? f->n_loops : MAX_LOOPS;
	for (size_t i = 0; i < n && depth < MAX_LOOPS; i++)
		if (f->loops[ranked[i]].parent == parent) {
			put_loop(page, table, ranked[i], calls[ranked[i]]);
			put_loops_in(page, table, ranked, calls, (uint32_t)ranked[i], depth + 1);
		}
}

static void put_loops(struct page *page)
{
	static const struct text_column columns[] = {{"time", true, 4},    {"share", true},
						     {"loop", false},      {"line", false},
						     {"turns", true, 3},   {"turns/entry", true},
						     {"GFLOP/s", true, 2}, {"memory", true, 1}};
	const struct model_function *f = page->f;
	size_t *ranked = malloc((f->n_loops + 1) * sizeof(*ranked));
	uint32_t *calls = report_calls_of_loops(page->view, f);
	struct text_table table = page_table(page, columns, 3);
	if (!ranked || !calls)
		page_fail(page, rf_error_no_memory());
	if (ranked && calls && f->n_loops) {
		page_title(page, "loops, with those within them");
		for (size_t i = 0; i < f->n_loops; i++)
			ranked[i] = i;
		qsort_r(ranked, f->n_loops, sizeof(*ranked), by_time, f->loops);
		put_loops_in(page, &table, ranked, calls, PROFILE_NONE, 0);
		page_fail(page, text_table_end(&table, page->stream));
		if (f->n_loops > MAX_LOOPS)
			page_line(page, STYLE_DIM, "  · ", "and %zu more with less time",
				  f->n_loops - MAX_LOOPS);
	}
	free(ranked);
	free(calls);
}

/* ---- why ---- */

static void put_reasons(struct page *page)
{
	struct reasons reasons;
	char lead[32];
	page_fail(page, report_reasons(page->view, page->f, &reasons));
	page_title(page, page->f->place.above             ? "above its roof"
			 : !(page->f->place.roof > 0)     ? "why"
			 : page->f->place.distance <= 1.1 ? "at its roof"
							  : "why below the roof");
	for (size_t i = 0; i < reasons.n_items; i++) {
		snprintf(lead, sizeof(lead), "  %zu. ", i + 1);
		page_line(page, STYLE_PLAIN, lead, "%s: %s", reasons.items[i].name,
			  reasons.items[i].what);
		page_line(page, STYLE_BALANCED, "     try: ", "%s", reasons.items[i].try);
	}
	if (!reasons.n_items)
		page_line(page, STYLE_PLAIN, "  ", "%s", report_no_reason(page->f));
	reasons_deinit(&reasons);
}

/* ---- all of it ---- */

struct rf_error *report_function_page(const struct report_view *plain, FILE *stream)
{
	struct page page = {.view = plain, .stream = stream};
	struct rf_error *error = find_function(plain, plain->options->function, &page.f);
	if (error)
		return error;
	page.evidence = model_evidence(plain->profile, page.f);
	put_head(&page);
	put_reasons(&page);
	page_account(&page);
	put_levels(&page);
	put_ceilings(&page);
	put_flop(&page);
	put_instructions(&page);
	page_inlined(&page);
	put_loops(&page);
	page_objects(&page);
	page_sharing(&page);
	page_people(&page);
	return page.error;
}
