/* The data of a page: those of the JSON report in another arrangement.  What lists and pictures
 * need of all functions is one element; another for each function has the rest, and is read when
 * the function's own page is opened. */
#include "report/html/html_data.h"

#include "profile/function_index.h"
#include "report/ecm/ecm_words.h"
#include "report/ecm/potentials.h"
#include "report/html/html_code.h"
#include "report/json/json.h"
#include "report/json/json_function.h"
#include "report/json/json_items.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"

#include <math.h>
#include <stdlib.h>

#define CODE_LINES 40000 /* instructions in a page; those of the first functions of the ranking */
#define CODE_OF_FUNCTION 10000 /* a function that has more shows none */

/* ---- elements ---- */

#define ELEMENT_BEGIN(id) "<script type=\"application/json\" id=\"" id "\">"
#define ELEMENT_END "</script>\n"

/* ---- one function ---- */

/* A level's array; html/data.js has the same list. */
static void put_level(struct json_writer *out, const struct model_level *level)
{
	put_array(out, NULL);
	put_text(out, NULL, level->name);
	put_real(out, NULL, level->moved[DIRECTION_READ].bytes);
	put_real(out, NULL, level->moved[DIRECTION_WRITE].bytes);
	put_real(out, NULL, level->bandwidth > 0 ? level->bandwidth : NAN);
	put_end(out);
}

/* What lists need beside the members of the JSON report. */
static void put_listed(struct json_writer *out, const struct model_function *f)
{
	put_count(out, "n_loops", f->n_loops);
	if (!f->traffic) {
		put_null(out, "levels");
		return;
	}
	put_array(out, "levels");
	for (size_t i = 0; i < f->traffic->n_levels; i++)
		put_level(out, &f->traffic->levels[i]);
	put_end(out);
}

/* Why it is below its roof, and what one would try: [what, try] of each reason, and of the first
 * one for the list. */
static struct rf_error *put_reasons(struct json_writer *listed, struct json_writer *out,
				    const struct report_view *view, const struct model_function *f)
{
	struct reasons reasons = {0};
	struct rf_error *error = f->n_samples > 0 ? report_reasons(view, f, &reasons) : NULL;
	const struct reason *first = reasons.n_items ? &reasons.items[0] : NULL;
	put_text(listed, "held_back_by", error || !f->time_ns ? NULL : report_held_by(f, &reasons));
	put_text(listed, "why", first ? first->what : NULL);
	put_text(listed, "try", first ? first->try : NULL);
	put_array(out, "reasons");
	for (size_t i = 0; i < reasons.n_items; i++) {
		put_array(out, NULL);
		put_text(out, NULL, reasons.items[i].name);
		put_text(out, NULL, reasons.items[i].what);
		put_text(out, NULL, reasons.items[i].try);
		put_end(out);
	}
	put_end(out);
	reasons_deinit(&reasons);
	return error;
}

/* What changes of it would save: [in words, seconds]. */
static void put_changes(struct json_writer *out, const struct report_view *view,
			const struct ecm_account *account)
{
	char words[ECM_CHANGE_WORDS];
	put_array(out, NULL);
	for (enum ecm_change i = 0; i < ECM_CHANGES; i++) {
		if (!ecm_is_worth_telling(account, i))
			continue;
		put_array(out, NULL);
		put_text(out, NULL, ecm_put_change(words, view->ecm, i));
		put_real(out, NULL, ecm_saved_s(account, i));
		put_end(out);
	}
	put_end(out);
}

/* An account's array, or null where there is no prediction; html/ecm.js has the same list. */
static void put_account(struct json_writer *out, const char *key, const struct report_view *view,
			const struct ecm_account *account)
{
	char turn[96];
	if (!account || !ecm_is_predicted(account)) {
		put_null(out, key);
		return;
	}
	put_array(out, key);
	put_text(out, NULL, ecm_put_parts(turn, view->ecm, account));
	put_real(out, NULL, account->predicted_s);
	put_real(out, NULL, account->light_s);
	put_real(out, NULL, account->measured_s);
	put_real(out, NULL, account->stderr_s);
	put_text(out, NULL, ecm_lack_words(account));
	put_changes(out, view, account);
	put_array(out, NULL); /* by the numbers of threads in the head */
	for (size_t i = 0; i < view->ecm->n_threads; i++)
		put_real(out, NULL, ecm_wall_s(view->ecm, account, i));
	put_end(out);
	put_real(out, NULL, ecm_saturating_threads(account));
	for (int i = 0; i < ACCOUNT_PARTS; i++)
		put_real(out, NULL, account->account_s[i]);
	put_end(out);
}

/* What is told of its branches: [kind in words, place, share, its half-width, seconds]. */
static void put_branches(struct json_writer *out, const char *key, const struct report_view *view,
			 const struct model_function *f)
{
	const struct profile_branch *told[MISPREDICTIONS_TOLD];
	const size_t n = mispredictions_told(view->profile, f, 1e-9 * (double)f->time_ns, told);
	put_array(out, key);
	for (size_t i = 0; i < n; i++) {
		put_array(out, NULL);
		put_text(out, NULL, mispredictions_kind_words(told[i]->kind));
		put_text(out, NULL, REPORT_BRANCH_PLACE(told[i]));
		put_real(out, NULL, told[i]->share);
		put_real(out, NULL, told[i]->halfwidth);
		put_real(out, NULL, mispredictions_seconds(view->profile, told[i]));
		put_end(out);
	}
	put_end(out);
}

/* A loop's array; html/function.js has the same list. */
static void put_loop(struct json_writer *out, const struct report_view *view, uint32_t module,
		     const struct model_loop *loop, uint32_t call,
		     const struct ecm_account *account)
{
	char line[192];
	const bool traced = view->model->traced;
	const struct model_bytes *bytes = loop->bytes;
	put_array(out, NULL);
	put_known(out, NULL, loop->parent != PROFILE_NONE, loop->parent);
	put_count(out, NULL, loop->start);
	put_count(out, NULL, loop->end);
	put_count(out, NULL, loop->header);
	put_integer(out, NULL, loop->turns);
	put_count(out, NULL, loop->tally.instructions);
	put_count(out, NULL, loop->tally.flop);
	put_count(out, NULL, loop->tally.load_bytes);
	put_count(out, NULL, loop->tally.store_bytes);
	put_real(out, NULL, (double)loop->time_ns * 1e-9);
	put_count(out, NULL, loop->n_samples);
	put_real(out, NULL, traced ? bytes->l2.bytes : NAN);
	put_real(out, NULL, traced ? bytes->l3.bytes : NAN);
	put_real(out, NULL, traced ? bytes->events[TRAFFIC_MEM_READ].bytes : NAN);
	put_real(out, NULL, traced ? bytes->mem[DIRECTION_WRITE].bytes : NAN);
	put_text(out, NULL, call == PROFILE_NONE ? NULL : report_inlined_name(view->profile, call));
	put_text(out, NULL,
		 report_line_at(view->profile, module, loop->header, line, sizeof(line)) ? line
											 : NULL);
	put_account(out, NULL, view, account);
	put_end(out);
}

static struct rf_error *put_loops(struct json_writer *out, const struct report_view *view,
				  const struct model_function *f)
{
	uint32_t *calls = report_calls_of_loops(view, f);
	const uint32_t module = f->function == PROFILE_NONE
					? PROFILE_NONE
					: view->profile->functions[f->function].module;
	struct ecm_function ecm = {0};
	struct rf_error *error =
		view->ecm ? ecm_function_init(&ecm, view->ecm, view->profile, view->model, f)
			  : NULL;
	const bool told = view->ecm && !error;
	put_account(out, "ecm", view, told ? &ecm.whole : NULL);
	put_branches(out, "branches", view, f);
	put_array(out, "loops");
	for (size_t i = 0; calls && i < f->n_loops; i++)
		put_loop(out, view, module, &f->loops[i], calls[i], told ? &ecm.loops[i] : NULL);
	put_end(out);
	ecm_function_deinit(&ecm);
	free(calls);
	return calls || error ? error : rf_error_no_memory();
}

static bool has_time(const struct report_view *view, const struct model_function *f)
{
	return f->n_samples > 0 || view->model->n_samples == 0;
}

/* ---- all of a profile ---- */

/* The numbers of threads that accounts have times for. */
static void put_thread_counts(struct json_writer *out, const char *key,
			      const struct report_view *view)
{
	put_array(out, key);
	for (size_t i = 0; view->ecm && i < view->ecm->n_threads; i++)
		put_real(out, NULL, view->ecm->threads[i]);
	put_end(out);
}

/* What changes would save in the whole program: [in words, seconds, function, seconds in it]. */
static struct rf_error *put_potentials(struct json_writer *out, const char *key,
				       const struct report_view *view)
{
	struct ecm_potential potentials[ECM_CHANGES];
	char words[ECM_CHANGE_WORDS];
	size_t n = 0;
	struct rf_error *error =
		ecm_potentials(view->ecm, view->profile, view->model, potentials, &n);
	put_array(out, key);
	for (size_t i = 0; i < n; i++) {
		put_array(out, NULL);
		put_text(out, NULL, ecm_put_change(words, view->ecm, potentials[i].change));
		put_real(out, NULL, potentials[i].saved_s);
		put_text(out, NULL, potentials[i].most->name);
		put_real(out, NULL, potentials[i].most_s);
		put_end(out);
	}
	put_end(out);
	return error;
}

/* Begins the object that all views need, up to its functions. */
static void begin_head(struct json_writer *out, const struct report_view *view)
{
	char *program = report_program(view->profile), overlap[512];
	put_object(out, NULL);
	report_json_head(out, view);
	put_text(out, "title", program ? program : "?");
	put_flag(out, "counted", view->model->counted);
	put_flag(out, "traced", view->model->traced);
	put_text(out, "overlap",
		 view->ecm ? ecm_put_machine(overlap, sizeof(overlap), view->ecm) : NULL);
	put_thread_counts(out, "ecm_threads", view);
	put_text(out, "level", report_picture_level(view));
	put_text(out, "main_precision", report_main_precision(view->model));
	put_array(out, "functions");
	free(program);
}

static void end_head(struct json_writer *out)
{
	put_end(out);
	put_end(out);
}

/* The rows whose code is shown: a bool for each place of the profile.  NULL when memory is short.
 */
static bool *rows_with_code(const struct report_view *view)
{
	bool *wanted = calloc(profile_n_places(view->profile), sizeof(*wanted));
	for (size_t i = 0; wanted && i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (f->function != PROFILE_NONE && has_time(view, f))
			wanted[f->function] = true;
	}
	return wanted;
}

/* What is written of the functions. */
struct page {
	const struct report_view *view;
	struct code code;
	bool *has_code; /* per rank: its code is shown; NULL: functions have no pages */
};

/* Chooses the functions whose code is shown, while the page has room. */
static struct rf_error *choose_code(struct page *page)
{
	const struct report_view *view = page->view;
	size_t room = CODE_LINES;
	page->has_code = calloc(view->n_rank + 1, sizeof(*page->has_code));
	if (!page->has_code)
		return rf_error_no_memory();
	for (size_t i = 0; i < view->n_rank && room; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const size_t n = has_time(view, f) ? html_code_lines(&page->code, f) : 0;
		if (!n || n > CODE_OF_FUNCTION || n > room)
			continue;
		page->has_code[i] = true;
		room -= n;
	}
	return NULL;
}

static struct rf_error *put_code(struct json_writer *out, const struct page *page, size_t i)
{
	const struct report_view *view = page->view;
	if (page->has_code[i])
		return html_code_put(out, "code", &page->code,
				     &view->model->functions[view->rank[i]]);
	put_null(out, "code");
	return NULL;
}

/* Both objects of a function: to[0] is the list, to[1] its own element. */
static struct rf_error *put_objects(struct json_writer *const *to, size_t i,
				    const struct page *page)
{
	const struct report_view *view = page->view;
	const struct model_function *f = &view->model->functions[view->rank[i]];
	put_object(to[0], NULL);
	put_object(to[1], NULL);
	struct rf_error *error =
		report_json_function(&(struct json_function_out){to[0], to[1], false}, view, f);
	put_listed(to[0], f);
	if (!error && page->has_code)
		error = put_loops(to[1], view, f) ?: put_reasons(to[0], to[1], view, f)
							     ?: put_code(to[1], page, i);
	put_end(to[0]);
	put_end(to[1]);
	return error;
}

static struct rf_error *put_function(struct json_writer *const *to, size_t i, void *context)
{
	const struct page *page = context;
	char begin[80];
	snprintf(begin, sizeof(begin), ELEMENT_BEGIN("detail-%zu"), i);
	json_writer_put_between(to[1], begin);
	struct rf_error *error = put_objects(to, i, page);
	json_writer_put_between(to[1], ELEMENT_END);
	return error;
}

/* Writes the functions' own elements to `out`, and what the list has of them to `listed`. */
static struct rf_error *write_functions(const struct report_view *view, struct json_writer *listed,
					struct json_writer *out)
{
	struct page page = {.view = view};
	bool *wanted = rows_with_code(view);
	if (!wanted)
		return rf_error_no_memory();
	struct json_writer *const to[] = {listed, out};
	struct rf_error *error =
		code_init(&page.code, view, wanted)
			?: choose_code(&page)
			?: json_put_items(to, 2, view->n_rank, put_function, &page, view);
	code_deinit(&page.code);
	free(page.has_code);
	free(wanted);
	return error;
}

/* The list is kept in memory until the functions are written. */
struct rf_error *html_write_data(const struct report_view *view, FILE *stream)
{
	struct json_writer *out = json_writer_create(stream, JSON_PAGE);
	struct json_writer *listed = out ? json_writer_create_part(out) : NULL;
	struct rf_error *error = listed ? NULL : rf_error_no_memory();
	if (!error) {
		begin_head(listed, view);
		error = write_functions(view, listed, out);
		put_end(listed); /* the functions */
		error = error ?: put_potentials(listed, "potentials", view);
		put_end(listed);
	}
	if (!error) {
		json_writer_put_between(out, ELEMENT_BEGIN("data"));
		json_writer_join(out, listed);
		json_writer_put_between(out, ELEMENT_END);
	}
	json_writer_destroy(listed);
	const bool done = json_writer_destroy(out);
	return done || error ? error : rf_error_no_memory();
}

/* ---- the other profile ---- */

static struct rf_error *put_other(struct json_writer *const *to, size_t i, void *context)
{
	return put_objects(to, i, context);
}

/* Its functions have no pages. */
static struct rf_error *write_list(struct report_view *view, void *context)
{
	FILE *out = context;
	struct page page = {.view = view};
	struct json_writer *const to[] = {json_writer_create(out, JSON_PAGE),
					  json_writer_create(NULL, JSON_PAGE)};
	struct rf_error *error = to[0] && to[1] ? NULL : rf_error_no_memory();
	fputs(ELEMENT_BEGIN("other"), out);
	if (!error) {
		begin_head(to[0], view);
		error = json_put_items(to, 2, view->n_rank, put_other, &page, NULL);
		end_head(to[0]);
	}
	const bool done = json_writer_destroy(to[0]);
	json_writer_destroy(to[1]);
	fputs(ELEMENT_END, out);
	return done || error ? error : rf_error_no_memory();
}

struct rf_error *html_write_compared(const struct report_view *view, FILE *out)
{
	struct profile *other = NULL;
	if (!view->options->html_compare)
		return NULL;
	struct rf_error *error =
		profile_load_parts(view->options->html_compare,
				   view->options->redact ? PROFILE_LINES : 0, &other);
	if (!error && view->options->redact)
		error = profile_redact(other);
	struct report_options options = *view->options;
	options.html_path = options.json_path = options.svg_path = NULL;
	if (!error)
		error = report_with_view(other, &options, write_list, out);
	profile_destroy(other);
	return error;
}
