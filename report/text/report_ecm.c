/* Time accounts: predicted parts beside measured time. */
#include "report/text/report_ecm.h"

#include "base/text.h"
#include "report/ecm/ecm_words.h"
#include "report/ecm/potentials.h"
#include "report/ecm/replays.h"
#include "report/ecm/second_opinion.h"
#include "report/model/model_loops.h"
#include "report/rows/code_names.h"
#include "report/text/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LOOP 0.05   /* of the function's time, to be told */
#define MOST_LOOPS 6      /* of a function */
#define WITH_MOST 66      /* columns, for whose most of a saving is */
#define MOST_THREADS 1000 /* more hardly come to the memory */

enum { NAME, TURN, LATENCY, PREDICTED, MEASURED, RATIO, LARGEST, N_COLUMNS };

enum { CHANGE, SAVED, SHARE, MOST, N_POTENTIAL };

#define COLUMNS(name)                                                                \
	{                                                                            \
		[NAME] = {name, false}, [TURN] = {"cycles a turn", false, 2},        \
		[LATENCY] = {"latency", true, 1}, [PREDICTED] = {"predicted", true}, \
		[MEASURED] = {"measured", true}, [RATIO] = {"of it", true},          \
		[LARGEST] = {"most of it", false, 3},                                \
	}
static const struct text_column of_functions[N_COLUMNS] = COLUMNS("function"),
				of_loops[N_COLUMNS] = COLUMNS("loop");

/* ---- cells ---- */

/* "~": of few samples. */
static const char *mark_of(const struct ecm_account *account)
{
	return account->stderr_s > 0.1 * account->measured_s ? "~" : "";
}

static void put_ratio(struct text_table *table, const struct ecm_account *account)
{
	if (account->measured_s > 0)
		text_table_put(table, RATIO, STYLE_PLAIN, "%s%.0f %%", mark_of(account),
			       100 * account->predicted_s / account->measured_s);
	else
		text_table_text(table, RATIO, "–");
}

/* Of what is in the core, which thing. */
static const char *largest_of(const struct ecm_account *account)
{
	const enum ecm_account_part largest = ecm_largest(account);
	if (largest != ACCOUNT_CORE)
		return ecm_account_label(largest);
	return account->parts_s[ECM_NOL] >= account->parts_s[ECM_OL]
		       ? "loads, stores"
		       : in_core_part_name(ecm_longest_in_core(account));
}

/* What is the same of functions and loops.  Latency has a column where anything waits for lines. */
static void put_account(struct text_table *table, const struct ecm_machine *machine,
			const struct ecm_account *account, double longest_s, bool loop)
{
	char cell[96];
	text_table_text(table, MEASURED,
			isnan(account->measured_s)
				? "–"
				: report_put_time(cell, account->measured_s, longest_s));
	if (!ecm_is_predicted(account)) {
		text_table_text(table, PREDICTED, "–");
		return;
	}
	if (loop)
		text_table_text(table, TURN, ecm_put_parts(cell, machine, account));
	if (loop && account->latency_s > 0) {
		table->hidden[LATENCY] = false;
		text_table_text(table, LATENCY,
				text_number(cell, ecm_cycles_a_turn(machine, account,
								    account->latency_s)));
	}
	text_table_text(table, PREDICTED, report_put_time(cell, account->predicted_s, longest_s));
	put_ratio(table, account);
	text_table_text(table, LARGEST, largest_of(account));
}

/* ---- loops ---- */

static bool has_within(const struct model_function *f, uint32_t loop)
{
	size_t n;
	(void)model_loops_within(f, loop, &n);
	return n > 0;
}

/* The innermost loops with much time, at most MOST_LOOPS, in the order of the code; returns how
 * many. */
static size_t hot_loops(const struct model_function *f, size_t hot[MOST_LOOPS])
{
	size_t n = 0;
	for (size_t i = 0; i < f->n_loops && n < MOST_LOOPS; i++)
		if (!has_within(f, (uint32_t)i) &&
		    (double)f->loops[i].time_ns >= LEAST_LOOP * (double)f->time_ns &&
		    f->loops[i].n_samples)
			hot[n++] = i;
	return n;
}

static void put_loops(const struct report_view *view, const struct model_function *f,
		      const struct ecm_function *ecm, struct text_table *table)
{
	size_t hot[MOST_LOOPS];
	const size_t n = hot_loops(f, hot);
	for (size_t i = 0; i < n; i++) {
		char number[192], line[192] = "";
		report_loop_number(number, f, hot[i]);
		if (f->function != PROFILE_NONE)
			(void)report_line_at(view->profile,
					     view->profile->functions[f->function].module,
					     f->loops[hot[i]].header, line, sizeof(line));
		text_table_row(table);
		text_table_put(table, NAME, STYLE_DIM, "  %s%s%s", number, line[0] ? " " : "",
			       line);
		put_account(table, view->ecm, &ecm->loops[hot[i]], (double)f->time_ns * 1e-9, true);
	}
}

static struct rf_error *put_function(const struct report_view *view, const struct model_function *f,
				     struct text_table *table)
{
	struct ecm_function ecm;
	struct rf_error *error = ecm_function_init(&ecm, view->ecm, view->profile, view->model, f);
	if (!error) {
		text_table_row(table);
		text_table_text(table, NAME, f->name);
		put_account(table, view->ecm, &ecm.whole, (double)f->time_ns * 1e-9, false);
		put_loops(view, f, &ecm, table);
	}
	ecm_function_deinit(&ecm);
	return error;
}

/* ---- the table ---- */

/* The table, and what it says; a narrow one lacks columns. */
static struct rf_error *end_table(const struct report_view *view, struct text_table *table,
				  FILE *stream)
{
	char text[512], narrow[200] = "";
	struct rf_error *error = text_table_end(table, stream);
	if (error)
		return error;
	if (table->left_out[0])
		snprintf(narrow, sizeof(narrow), "; narrow: without %s", table->left_out);
	snprintf(text, sizeof(text),
		 "cycles a turn: {in the core ‖ loads and stores | L1L2 | L2L3 | memory}; "
		 "predicted from counts, traffic, roofs and simulated predictors alone%s",
		 narrow);
	error = terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ", text);
	return error
		       ?: terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ",
					    ecm_put_machine(text, sizeof(text), view->ecm));
}

/* ---- what if, in the whole program ---- */

static void put_potential(struct text_table *table, const struct report_view *view,
			  const struct ecm_potential *potential)
{
	const double all = (double)view->model->time_ns * 1e-9;
	char words[ECM_CHANGE_WORDS], saved[64], most[64];
	text_table_row(table);
	text_table_text(table, CHANGE, ecm_put_change(words, view->ecm, potential->change));
	text_table_text(table, SAVED, report_put_time(saved, potential->saved_s, all));
	text_table_put(table, SHARE, STYLE_PLAIN, "%.0f %%", 100 * potential->saved_s / all);
	text_table_put(table, MOST, STYLE_PLAIN, "%s: %s", potential->most->name,
		       report_put_time(most, potential->most_s, all));
}

static struct rf_error *put_potentials(const struct report_view *view, FILE *stream)
{
	static const struct text_column columns[N_POTENTIAL] = {
		[CHANGE] = {"what if all code ran", false},
		[SAVED] = {"could save", true},
		[SHARE] = {"%", true, 1},
		[MOST] = {"most of it", false},
	};
	const bool narrow = view->terminal->columns < WITH_MOST; /* words alone fill it */
	struct text_table table = TEXT_TABLE(view->terminal, columns, narrow ? CHANGE : MOST, 8,
					     .most = 40, .hidden[MOST] = narrow);
	struct ecm_potential potentials[ECM_CHANGES];
	size_t n = 0;
	struct rf_error *error =
		ecm_potentials(view->ecm, view->profile, view->model, potentials, &n);
	for (size_t i = 0; i < n; i++)
		put_potential(&table, view, &potentials[i]);
	if (!error && n)
		return text_table_end(&table, stream);
	text_table_deinit(&table);
	return error;
}

struct rf_error *report_ecm(const struct report_view *view, FILE *stream)
{
	struct text_table table = TEXT_TABLE(view->terminal, of_functions, NAME, 8, .most = 32,
					     .hidden[LATENCY] = true);
	struct rf_error *error = NULL;
	for (size_t i = 0; view->ecm && !error && i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (f->n_samples)
			error = put_function(view, f, &table);
	}
	if (error || !table.n_rows) {
		text_table_deinit(&table);
		return error;
	}
	return end_table(view, &table, stream) ?: put_potentials(view, stream);
}

/* ---- the page of a function ---- */

/* "1.2 s in the core, 0.4 s between L1 and L2, …" */
static void put_sum(struct page *page, const struct ecm_account *account)
{
	const double all = account->measured_s;
	char text[512] = "", time[64];
	size_t used = 0;
	for (int i = 0; i < ACCOUNT_REST; i++)
		if (account->account_s[i] > 0.005 * fmax(all, account->predicted_s))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 used ? ", " : "",
						 report_put_time(time, account->account_s[i], all),
						 ecm_account_words((enum ecm_account_part)i));
	page_line(page, STYLE_PLAIN, "  ", "predicted: %s", used ? text : "nothing");
}

/* Where what moved, or what was mispredicted, is so little known that it matters. */
static void put_ends(struct page *page, const struct ecm_account *account)
{
	const double all = account->measured_s;
	char least[64], most[64];
	if (account->most_s - account->least_s > 0.2 * account->predicted_s)
		page_line(page, STYLE_PLAIN, "  ",
			  "predicted from samples of sets and of outcomes: %s to %s (95 %%); "
			  "--cache-sample=1 simulates all sets",
			  report_put_time(least, account->least_s, all),
			  report_put_time(most, account->most_s, all));
}

static void put_comparison(struct page *page, const struct ecm_account *account)
{
	const double all = account->measured_s, rest = account->account_s[ACCOUNT_REST];
	char predicted[64], measured[64], error[64], off[64], light[64];
	if (isnan(all))
		return;
	report_put_time(predicted, account->predicted_s, all);
	report_put_time(measured, all, all);
	report_put_time(error, account->stderr_s, all);
	report_put_time(off, fabs(rest), all);
	report_put_time(light, account->light_s, all);
	page_line(page, STYLE_PLAIN, "  ", "%s predicted, %s ± %s measured: %s %s", predicted,
		  measured, error, off, rest < 0 ? "faster than predicted" : "not explained");
	put_ends(page, account);
	page_line(page, STYLE_PLAIN, "  ", "light speed of the code as it is: %s%s%s", light,
		  account->latency_s > 0 ? ", if it waited for no irregular or far line" : "",
		  account->mispredicted.n > 0 ? ", if no branch were mispredicted" : "");
}

/* "predicted with 1, 2, 4 threads: 2.1, 4.2, 5.9 GFLOP/s; the memory is saturated from 2.6 threads
 * on". Where there is no flop, what it takes by the clock. */
static void put_threads(struct page *page, const struct ecm_account *account)
{
	const struct ecm_machine *machine = page->view->ecm;
	const double saturated = ecm_saturating_threads(account);
	/* ECM_THREADS of them, of at most 6 and 70 bytes */
	char counts[ECM_THREADS * 8] = "", figures[ECM_THREADS * 72] = "", cell[64], end[96] = "";
	size_t n = 0, used = 0;
	if (saturated < MOST_THREADS)
		snprintf(end, sizeof(end), "the memory is saturated from %s threads on",
			 text_number(cell, saturated));
	for (size_t i = 0; i < machine->n_threads; i++) {
		const double wall = ecm_wall_s(machine, account, i);
		const char *comma = i ? ", " : "";
		n += (size_t)snprintf(counts + n, sizeof(counts) - n, "%s%.0f", comma,
				      machine->threads[i]);
		used += (size_t)snprintf(figures + used, sizeof(figures) - used, "%s%s", comma,
					 account->flop > 0 && wall > 0
						 ? text_number(cell, 1e-9 * account->flop / wall)
						 : report_put_time(cell, wall,
								   account->measured_s));
	}
	if (machine->n_threads > 1)
		page_line(page, STYLE_PLAIN, "  ", "predicted with %s threads: %s%s%s%s", counts,
			  figures, account->flop > 0 ? " GFLOP/s" : "", end[0] ? "; " : "", end);
	else if (end[0])
		page_line(page, STYLE_PLAIN, "  ", "%s", end);
}

/* "in vectors of 32 bytes it would take 1.1 s, 0.4 s less". */
static void put_changes(struct page *page, const struct ecm_account *account)
{
	const double all = account->measured_s;
	for (enum ecm_change i = 0; i < ECM_CHANGES; i++) {
		const double saved = ecm_saved_s(account, i);
		char words[ECM_CHANGE_WORDS], after[64], less[64];
		if (ecm_is_worth_telling(account, i))
			page_line(page, STYLE_PLAIN, "  ", "%s it would take %s, %s less",
				  ecm_put_change(words, page->view->ecm, i),
				  report_put_time(after, all - saved, all),
				  report_put_time(less, saved, all));
	}
}

/* "the branch at sort.c:4 is mispredicted 49 ± 1 % of the time: 1.3 s". */
static void put_branches(struct page *page, double all)
{
	const struct profile *profile = page->view->profile;
	const struct model_function *f = page->f;
	const struct profile_branch *told[MISPREDICTIONS_TOLD];
	const size_t n = mispredictions_told(profile, f, all, told);
	for (size_t i = 0; i < n; i++) {
		const double seconds = mispredictions_seconds(profile, told[i]);
		char time[64];
		page_line(page, STYLE_PLAIN, "  ",
			  "the %s at %s is mispredicted %.1f ± %.1f %% of the time: %s",
			  mispredictions_kind_words(told[i]->kind), REPORT_BRANCH_PLACE(told[i]),
			  100 * told[i]->share, 100 * told[i]->halfwidth,
			  report_put_time(time, seconds, all));
	}
}

/* "of its accesses 4.2 % miss the nearest TLB, 1.3 % all TLBs (simulated: …)". */
static void put_walks(struct page *page, const struct ecm_account *account)
{
	const struct page_walks *walks = &account->walks;
	if (walks->accesses > 0)
		page_line(page, STYLE_PLAIN, "  ",
			  "of its accesses %.2g %% miss the nearest TLB, %.2g %% all TLBs "
			  "(simulated: %s)",
			  100 * walks->near_misses / walks->accesses,
			  100 * walks->walks / walks->accesses,
			  profile_get_fact(page->view->profile, "tlb"));
}

static void put_page_loops(struct page *page, const struct ecm_function *ecm)
{
	struct text_table table = TEXT_TABLE(page->view->terminal, of_loops, NAME, 8, .most = 32,
					     .hidden[LATENCY] = true);
	put_loops(page->view, page->f, ecm, &table);
	if (table.n_rows && !page->error)
		page_fail(page, end_table(page->view, &table, page->stream));
	else
		text_table_deinit(&table);
}

/* "loop 1 with what it calls: predicted 0.49 of 0.50 s, most of it chain from turn to turn". */
static void put_with_calls(struct page *page, const struct ecm_function *ecm)
{
	size_t hot[MOST_LOOPS];
	const size_t n = hot_loops(page->f, hot);
	for (size_t i = 0; i < n; i++) {
		const struct ecm_account *all = &ecm->with_calls[hot[i]];
		char number[192], predicted[64], measured[64];
		if (!(all->turns > 0) || !ecm_is_predicted(all) || !(all->measured_s > 0))
			continue;
		report_loop_number(number, page->f, hot[i]);
		page_line(page, STYLE_PLAIN, "  ",
			  "%s with what it calls: predicted %s of %s, most of it %s", number,
			  report_put_time(predicted, all->predicted_s, all->measured_s),
			  report_put_time(measured, all->measured_s, all->measured_s),
			  ecm_account_words(ecm_largest(all)));
	}
}

/* "loop 1 with all data in L1, cycles a turn: 4.1 here, 4.0 by llvm-mca-16 for znver4". */
static void put_opinion(struct page *page, const struct second_opinion *opinion, size_t loop,
			const struct ecm_account *account, double cycles)
{
	const struct ecm_machine *machine = page->view->ecm;
	const double core_s = fmax(account->parts_s[ECM_OL], account->parts_s[ECM_NOL]);
	char number[192], own[64], its[64];
	if (isnan(cycles) || !ecm_is_predicted(account))
		return;
	report_loop_number(number, page->f, loop);
	page_line(page, STYLE_PLAIN, "  ",
		  "%s with all data in L1: %s cycles a turn, %s by %s for %s%s", number,
		  text_number(own, ecm_cycles_a_turn(machine, account, core_s)),
		  text_number(its, cycles), opinion->program, opinion->cpu,
		  opinion->is_other ? ", whose table is another core's" : "");
}

/* What llvm-mca, where it is installed, has for the loops of the table. */
static struct rf_error *put_second_opinion(struct page *page, const struct ecm_function *ecm)
{
	const struct profile *profile = page->view->profile;
	struct second_opinion opinion;
	struct function_code code;
	struct flow_graph graph = {0};
	struct model_function seen = {0};
	size_t hot[MOST_LOOPS];
	const size_t n = page->f->function == PROFILE_NONE ? 0 : hot_loops(page->f, hot);
	if (!n || !second_opinion_find(profile_get_fact(profile, "microarchitecture"), &opinion))
		return NULL;
	struct rf_error *error =
		function_code_init(profile, &code)
			?: function_code_graph(&code, page->f->function, &graph, &seen);
	for (size_t i = 0; i < n && !error && seen.n_loops == page->f->n_loops; i++) {
		double cycles;
		error = second_opinion_cycles(&opinion, profile, &graph, &seen, (uint32_t)hot[i],
					      &cycles);
		if (!error)
			put_opinion(page, &opinion, hot[i], &ecm->loops[hot[i]], cycles);
	}
	flow_graph_deinit(&graph);
	free(seen.loops);
	function_code_deinit(&code);
	return error;
}

/* "loop 1 replayed in L1: 1.1 cycles a turn (1.0 by the model), loads and stores alone 1.1".  A
 * replay turns on and on, so that its chain counts in full. */
static void put_replay(struct page *page, size_t loop, const struct loop_replay *replay,
		       const struct ecm_account *account)
{
	static const char *const variants[REPLAY_VARIANTS] = {
		[REPLAY_MEMORY] = ", loads and stores alone",
		[REPLAY_ARITHMETIC] = ", arithmetic alone",
		[REPLAY_ONE_LINE] = ", all in one line"};
	const struct ecm_machine *machine = page->view->ecm;
	const double core_s =
		fmax(account->lcd_s, fmax(account->parts_s[ECM_OL], account->parts_s[ECM_NOL]));
	char number[192], text[TEXT_NUMBER], parts[256] = "", own[128] = "";
	report_loop_number(number, page->f, loop);
	if (replay->why != REPLAY_DONE) {
		page_line(page, STYLE_PLAIN, "  ", "%s not replayed: %s", number,
			  replay_why_words(replay->why));
		return;
	}
	for (int i = REPLAY_WHOLE + 1; i < REPLAY_VARIANTS; i++)
		if (!isnan(replay->cycles[i])) {
			const size_t at = strlen(parts);
			snprintf(parts + at, sizeof(parts) - at, "%s %s", variants[i],
				 text_number(text, replay->cycles[i]));
		}
	if (ecm_is_predicted(account))
		snprintf(own, sizeof(own), " (%s by the model)",
			 text_number(text, ecm_cycles_a_turn(machine, account, core_s)));
	page_line(page, STYLE_PLAIN, "  ", "%s replayed in L1: %s cycles a turn%s%s%s", number,
		  text_number(text, replay->cycles[REPLAY_WHOLE]), own, parts,
		  replay->folded ? "; its pages share memory, which takes longer on some processors"
				 : "");
}

/* Of the loops of the table; where others were replayed, that these were not. */
static void put_replays(struct page *page, const struct ecm_function *ecm)
{
	const struct profile *profile = page->view->profile;
	const struct loop_replays *replays = page->view->ecm->replays;
	size_t hot[MOST_LOOPS];
	if (page->f->function == PROFILE_NONE || !profile_get_fact(profile, "replays"))
		return;
	const size_t n = hot_loops(page->f, hot);
	for (size_t i = 0; i < n; i++) {
		char number[192];
		const struct loop_replay *replay =
			replays_find(replays, profile, profile->functions[page->f->function].module,
				     page->f->loops[hot[i]].header);
		if (replay) {
			put_replay(page, hot[i], replay, &ecm->loops[hot[i]]);
			continue;
		}
		report_loop_number(number, page->f, hot[i]);
		page_line(page, STYLE_PLAIN, "  ",
			  "%s not replayed: it is not among the loops with most time", number);
	}
}

void page_account(struct page *page)
{
	const struct report_view *view = page->view;
	struct ecm_function ecm;
	if (!view->ecm || !page->f->n_samples)
		return;
	struct rf_error *error =
		ecm_function_init(&ecm, view->ecm, view->profile, view->model, page->f);
	page_fail(page, error);
	if (!error) {
		const char *lack = ecm_lack_words(&ecm.whole);
		page_title(page, "why it takes its time");
		if (lack)
			page_line(page, STYLE_PLAIN, "  ", "%s", lack);
		if (ecm_is_predicted(&ecm.whole)) {
			put_sum(page, &ecm.whole);
			put_comparison(page, &ecm.whole);
			put_threads(page, &ecm.whole);
			put_changes(page, &ecm.whole);
			put_branches(page, ecm.whole.measured_s);
			put_walks(page, &ecm.whole);
			put_page_loops(page, &ecm);
			put_with_calls(page, &ecm);
			put_replays(page, &ecm);
			page_fail(page, put_second_opinion(page, &ecm));
		}
	}
	ecm_function_deinit(&ecm);
}
