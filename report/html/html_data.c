/* The data of a page: those of the JSON report in another arrangement.  What lists and pictures
 * need of all functions is one element; another for each function has the rest, and is read when
 * the function's own page is opened. */
#include "report/html/html_data.h"

#include "profile/function_index.h"
#include "report/html/html_code.h"
#include "report/json/json.h"
#include "report/json/json_function.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"

#include <math.h>
#include <stdlib.h>

#define CODE_LINES 40000 /* instructions in a page; those of the first functions of the ranking */
#define CODE_OF_FUNCTION 10000 /* a function that has more shows none */

/* ---- elements ---- */

static void begin_element(FILE *out, const char *id)
{
	fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
}

static void end_element(FILE *out)
{
	fputs("</script>\n", out);
}

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

/* Why it is below its roof, and what one would try: [what, try]. */
static struct rf_error *put_reasons(struct json_writer *out, const struct report_view *view,
				    const struct model_function *f)
{
	struct reasons reasons = {0};
	struct rf_error *error = f->n_samples > 0 ? report_reasons(view, f, &reasons) : NULL;
	put_array(out, "reasons");
	for (size_t i = 0; i < reasons.n_items; i++) {
		put_array(out, NULL);
		put_text(out, NULL, reasons.items[i].what);
		put_text(out, NULL, reasons.items[i].try);
		put_end(out);
	}
	put_end(out);
	reasons_deinit(&reasons);
	return error;
}

/* A loop's array; html/function.js has the same list. */
static void put_loop(struct json_writer *out, const struct report_view *view,
		     const struct model_loop *loop, uint32_t call)
{
	const bool traced = view->model->traced;
	const struct model_bytes *bytes = &loop->bytes;
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
	put_end(out);
}

static struct rf_error *put_loops(struct json_writer *out, const struct report_view *view,
				  const struct model_function *f)
{
	uint32_t *calls = report_calls_of_loops(view, f);
	put_array(out, "loops");
	for (size_t i = 0; calls && i < f->n_loops; i++)
		put_loop(out, view, &f->loops[i], calls[i]);
	put_end(out);
	free(calls);
	return calls ? NULL : rf_error_no_memory();
}

static bool has_time(const struct report_view *view, const struct model_function *f)
{
	return f->n_samples > 0 || view->model->n_samples == 0;
}

/* *room: how many instructions the page can still show. */
static struct rf_error *put_code(struct json_writer *out, const struct code *code,
				 const struct model_function *f, size_t *room)
{
	const size_t most = *room < CODE_OF_FUNCTION ? *room : CODE_OF_FUNCTION;
	size_t n = 0;
	struct rf_error *error = NULL;
	if (has_time(code->view, f))
		error = html_code_put(out, "code", code, f, most, &n);
	else
		put_null(out, "code");
	*room -= n;
	return error;
}

/* ---- all of a profile ---- */

/* Begins the object that all views need, up to its functions. */
static void begin_head(struct json_writer *out, const struct report_view *view)
{
	char *program = report_program(view->profile);
	put_object(out, NULL);
	report_json_head(out, view);
	put_text(out, "title", program ? program : "?");
	put_flag(out, "counted", view->model->counted);
	put_flag(out, "traced", view->model->traced);
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

/* Both objects of a function; code: NULL for a function that has no page here. */
static struct rf_error *put_function(const struct json_function_out *to,
				     const struct report_view *view, const struct code *code,
				     const struct model_function *f, size_t *room)
{
	put_object(to->listed, NULL);
	put_object(to->rest, NULL);
	struct rf_error *error = report_json_function(to, view, f);
	put_listed(to->listed, f);
	if (!error && code)
		error = put_loops(to->rest, view, f)
				?: put_reasons(to->rest, view, f)
				?: put_code(to->rest, code, f, room);
	put_end(to->listed);
	put_end(to->rest);
	return error;
}

/* Writes the functions' own elements, and what the list has of them to `listed`. */
static struct rf_error *write_functions(const struct report_view *view, struct json_writer *listed,
					FILE *out)
{
	struct code code;
	size_t room = CODE_LINES;
	bool *wanted = rows_with_code(view);
	if (!wanted)
		return rf_error_no_memory();
	struct rf_error *error = code_init(&code, view, wanted);
	const struct json_function_out to = {listed, json_writer_create(out, JSON_PAGE), false};
	if (!error && !to.rest)
		error = rf_error_no_memory();
	for (size_t i = 0; !error && i < view->n_rank; i++) {
		char id[32];
		snprintf(id, sizeof(id), "detail-%zu", i);
		begin_element(out, id);
		error = put_function(&to, view, &code, &view->model->functions[view->rank[i]],
				     &room);
		json_writer_flush(to.rest);
		end_element(out);
	}
	const bool done = json_writer_destroy(to.rest);
	code_deinit(&code);
	free(wanted);
	return done || error ? error : rf_error_no_memory();
}

/* The list is kept in memory until the functions are written. */
struct rf_error *html_write_data(const struct report_view *view, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *list = open_memstream(&text, &size);
	if (!list)
		return rf_error_no_memory();
	struct json_writer *listed = json_writer_create(list, JSON_PAGE);
	struct rf_error *error = listed ? NULL : rf_error_no_memory();
	if (!error) {
		begin_head(listed, view);
		error = write_functions(view, listed, out);
		end_head(listed);
	}
	const bool done = json_writer_destroy(listed);
	if ((fclose(list) != 0 || !done) && !error)
		error = rf_error_no_memory();
	if (!error) {
		begin_element(out, "data");
		fwrite(text, 1, size, out);
		end_element(out);
	}
	free(text);
	return error;
}

/* ---- the other profile ---- */

/* Its functions have no pages. */
static struct rf_error *write_list(struct report_view *view, void *context)
{
	FILE *out = context;
	const struct json_function_out to = {json_writer_create(out, JSON_PAGE),
					     json_writer_create(NULL, JSON_PAGE), false};
	struct rf_error *error = to.listed && to.rest ? NULL : rf_error_no_memory();
	begin_element(out, "other");
	if (!error) {
		begin_head(to.listed, view);
		for (size_t i = 0; !error && i < view->n_rank; i++)
			error = put_function(&to, view, NULL,
					     &view->model->functions[view->rank[i]], NULL);
		end_head(to.listed);
	}
	const bool done = json_writer_destroy(to.listed);
	json_writer_destroy(to.rest);
	end_element(out);
	return done || error ? error : rf_error_no_memory();
}

struct rf_error *html_write_compared(const struct report_view *view, FILE *out)
{
	struct profile *other = NULL;
	if (!view->options->html_compare)
		return NULL;
	struct rf_error *error = profile_load(view->options->html_compare, &other);
	if (!error && view->options->redact)
		error = profile_redact(other);
	struct report_options options = *view->options;
	options.html_path = options.json_path = options.svg_path = NULL;
	if (!error)
		error = report_with_view(other, &options, write_list, out);
	profile_destroy(other);
	return error;
}
