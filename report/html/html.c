/* Everything as one page for a browser: readable as it stands, and the data for the scripts that
 * make more of it (html/, put in by html_assets).  The data are those of json.c in another
 * arrangement: what the list of functions needs first, then one element for each function's own
 * page, which is read when it is opened.
 *
 * Names come from files that nobody vouches for.  They stand in the page as text (text_write_xml)
 * and in JSON in which no character has a meaning in HTML; the policy in the head lets no other
 * scripts run than those here. */
#include "report/html/html.h"

#include "base/text.h"
#include "profile/function_index.h"
#include "report/html/html_assets.h"
#include "report/html/html_code.h"
#include "report/json/json.h"
#include "report/json/json_values.h"
#include "report/model/model_bandwidths.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/view.h"
#include "report/svg/svg.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATIC_REASONS 5 /* functions whose reasons are told without scripts */
#define STATIC_ROWS 200  /* of the table that is there without scripts */
#define CODE_LINES 40000 /* instructions in a page; those of the first functions of the ranking */
#define CODE_OF_FUNCTION 10000 /* a function that has more shows none */
#define LONG_STRING 2000       /* bytes; what is longer is shown with its middle left out */

/* ---- JSON without a meaning in HTML ---- */

static void write_escaped(FILE *out, const char *json)
{
	for (const char *from = json; *from;) {
		size_t plain = strcspn(from, "<>&");
		fwrite(from, 1, plain, out);
		from += plain;
		if (*from)
			fprintf(out, "\\u%04x", (unsigned char)*from++);
	}
}

/* Writes a value as an element of its own; takes the reference. */
static struct rf_error *write_json(FILE *out, const char *id, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(value);
	if (!text)
		return rf_error_no_memory();
	fprintf(out, "<script type=\"application/json\" id=\"%s\">", id);
	write_escaped(out, text);
	fputs("</script>\n", out);
	free(text);
	return NULL;
}

/* Valid UTF-8 of at most LONG_STRING bytes, the middle left out; NULL where there is no need. */
static json_t *shortened(const char *text)
{
	const size_t length = strlen(text);
	if (length <= LONG_STRING)
		return NULL;
	size_t head = LONG_STRING / 2, tail = length - LONG_STRING / 4;
	while (head && (text[head] & 0xc0) == 0x80)
		head--;
	while (tail < length && (text[tail] & 0xc0) == 0x80)
		tail++;
	return json_sprintf("%.*s \xe2\x80\xa6 %s", (int)head, text, text + tail);
}

static void shorten(json_t *value);

/* What takes the place of a long string; NULL: none, and the strings in it are shortened. */
static json_t *shorter(json_t *part)
{
	if (json_is_string(part))
		return shortened(json_string_value(part));
	shorten(part);
	return NULL;
}

/* All strings in it. */
static void shorten(json_t *value)
{
	const char *key;
	json_t *part, *fresh;
	size_t i;
	json_object_foreach(value, key, part) if ((fresh = shorter(part)))
		json_object_set_new(value, key, fresh);
	json_array_foreach(value, i, part) if ((fresh = shorter(part)))
		json_array_set_new(value, i, fresh);
}

/* ---- data ---- */

/* What the list and the picture need of a function; the rest waits in an element of its own. */
static const char *const listed[] = {
	"name",       "module",       "time_s",         "time_halfwidth_s",
	"elapsed_s",  "samples",      "share",          "threads",
	"flop",       "load_bytes",   "store_bytes",    "instructions",
	"gflops",     "gbytes_per_s", "intensity",      "precision",
	"bound",      "level",        "level_inferred", "point",
	"point_unit", "roof",         "roof_gflops",    "ceiling_gflops",
	"distance",   "headroom_s",   "above_roof",     "mem_bytes",
	"bound_or",
};

/* Fields of a loop's array; html/function.js has the same list. */
static const char *const loop_fields[] = {
	"parent",   "start_offset",   "end_offset",      "header_offset", "turns",   "instructions",
	"flop",     "load_bytes",     "store_bytes",     "time_s",        "samples", "l2_bytes",
	"l3_bytes", "mem_read_bytes", "mem_write_bytes", "inlined",
};

/* Fields of a level's array; html/data.js has the same list. */
static const char *const level_fields[] = {"level", "read_bytes", "write_bytes",
					   "bandwidth_gbytes_per_s"};

static json_t *taken(const json_t *from, const char *const *fields, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *field = json_object_get(from, fields[i]);
		json_array_append(array, field ? field : json_null());
	}
	return array;
}

static json_t *all_taken(const json_t *from, const char *const *fields, size_t n)
{
	if (!json_is_array(from))
		return json_null();
	json_t *array = json_array(), *row;
	size_t i;
	json_array_foreach(from, i, row) json_array_append_new(array, taken(row, fields, n));
	return array;
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static json_t *summary_of(const json_t *function)
{
	json_t *summary = json_object();
	for (size_t i = 0; i < COUNT(listed); i++)
		json_object_set(summary, listed[i], json_object_get(function, listed[i]));
	json_object_set_new(
		summary, "n_loops",
		json_integer((json_int_t)json_array_size(json_object_get(function, "loops"))));
	json_object_set_new(summary, "levels",
			    all_taken(json_object_get(function, "levels"), level_fields,
				      COUNT(level_fields)));
	return summary;
}

/* Why it is below its roof, and what one would try: [what, try]; NULL: no memory. */
static json_t *reasons_json(const struct report_view *view, const struct model_function *f)
{
	struct reasons reasons;
	json_t *array = json_array();
	struct rf_error *error = report_reasons(view, f, &reasons);
	for (size_t i = 0; i < reasons.n_items; i++)
		json_array_append_new(array,
				      json_pack("[o, o]", report_json_string(reasons.items[i].what),
						report_json_string(reasons.items[i].try)));
	const bool done = !error && json_array_size(array) == reasons.n_items;
	rf_error_destroy(error);
	reasons_deinit(&reasons);
	if (done)
		return array;
	json_decref(array);
	return NULL;
}

/* What is not in the summary. */
static json_t *detail_of(json_t *function, json_t *code)
{
	json_t *loops =
		all_taken(json_object_get(function, "loops"), loop_fields, COUNT(loop_fields));
	json_object_set_new(function, "loops", loops);
	for (size_t i = 0; i < COUNT(listed); i++)
		json_object_del(function, listed[i]);
	json_object_del(function, "why"); /* it has the reasons */
	json_object_set_new(function, "code", code);
	return function;
}

/* Takes the reference of `functions`. */
static json_t *head_of(const struct report_view *view, json_t *functions)
{
	json_t *head = report_json_head(view);
	char *program = report_program(view->profile);
	const bool done = head && json_array_size(functions) == view->n_rank;
	json_t *rest =
		json_pack("{s:s, s:b, s:b, s:s?, s:s, s:o}", "title", program ? program : "?",
			  "counted", view->model->counted, "traced", view->model->traced, "level",
			  report_picture_level(view), "main_precision",
			  report_main_precision(view->model), "functions", functions);
	free(program);
	if (!done || !rest || json_object_update(head, rest)) {
		json_decref(head);
		head = NULL;
	}
	json_decref(rest);
	shorten(head);
	return head;
}

static json_t *summaries(const struct report_view *view)
{
	json_t *functions = json_array();
	for (size_t i = 0; i < view->n_rank; i++) {
		json_t *function =
			report_json_function(view, &view->model->functions[view->rank[i]]);
		json_array_append_new(functions, summary_of(function));
		json_decref(function);
	}
	return functions;
}

static bool has_time(const struct report_view *view, const struct model_function *f)
{
	return f->n_samples > 0 || view->model->n_samples == 0;
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

/* Writes the functions' own data to `details`, and puts their summaries into `functions`.  The page
 * has the summaries first, for it reads them first; so the details are kept in memory until then.
 */
static struct rf_error *write_details(const struct report_view *view, json_t *functions,
				      FILE *details)
{
	struct code code;
	size_t room = CODE_LINES;
	bool *wanted = rows_with_code(view);
	if (!wanted)
		return rf_error_no_memory();
	struct rf_error *error = code_init(&code, view, wanted);
	for (size_t i = 0; !error && i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		json_t *lines =
			has_time(view, f)
				? html_code_of(&code, f,
					       room < CODE_OF_FUNCTION ? room : CODE_OF_FUNCTION)
				: json_null();
		json_t *function = lines ? report_json_function(view, f) : NULL;
		json_t *reasons = f->n_samples > 0 ? reasons_json(view, f) : json_array();
		char id[32];
		snprintf(id, sizeof(id), "detail-%zu", i);
		if (!function || !reasons) {
			json_decref(lines);
			json_decref(function);
			json_decref(reasons);
			error = rf_error_no_memory();
			break;
		}
		json_object_set_new(function, "reasons", reasons);
		room -= json_array_size(lines);
		json_array_append_new(functions, summary_of(function));
		detail_of(function, lines);
		shorten(function);
		error = write_json(details, id, function);
	}
	code_deinit(&code);
	free(wanted);
	return error;
}

static struct rf_error *write_data(const struct report_view *view, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *details = open_memstream(&text, &size);
	json_t *functions = json_array();
	if (!details) {
		json_decref(functions);
		return rf_error_no_memory();
	}
	struct rf_error *error = write_details(view, functions, details);
	if (fclose(details) != 0 && !error)
		error = rf_error_no_memory();
	if (!error)
		error = write_json(out, "data", head_of(view, functions));
	else
		json_decref(functions);
	if (!error)
		fwrite(text, 1, size, out);
	free(text);
	return error;
}

/* ---- the other profile ---- */

static struct rf_error *write_other(struct report_view *view, void *context)
{
	return write_json(context, "other", head_of(view, summaries(view)));
}

static struct rf_error *write_compared(const struct report_view *view, FILE *out)
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
		error = report_with_view(other, &options, write_other, out);
	profile_destroy(other);
	return error;
}

/* ---- what is there without scripts ---- */

/* The picture without the first line, which HTML does not take. */
static struct rf_error *write_picture(const struct report_view *view, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return rf_error_no_memory();
	struct rf_error *error = report_svg(view, stream);
	if (fclose(stream) != 0 && !error)
		error = rf_error_no_memory();
	const char *svg = error ? NULL : strstr(text, "<svg");
	if (svg)
		fputs(svg, out);
	free(text);
	return error;
}

static void write_text(FILE *out, const char *text)
{
	char *clean = text_clean(text);
	json_t *shorter_text = clean ? shortened(clean) : NULL;
	text_write_xml(out, shorter_text ? json_string_value(shorter_text) : text);
	json_decref(shorter_text);
	free(clean);
}

static void write_between(FILE *out, const char *before, const char *text, const char *after)
{
	fputs(before, out);
	write_text(out, text);
	fputs(after, out);
}

static void write_number_cell(FILE *out, double value, const char *unit)
{
	char number[TEXT_NUMBER];
	fprintf(out, "<td>%s%s</td>", text_number(number, value), isfinite(value) ? unit : "");
}

static void write_row(const struct report_view *view, const struct model_function *f, FILE *out)
{
	char intensity[64], distance[64], words[64];
	const struct model_place *place = &f->place;
	const bool counted = f->tally.instructions > 0;
	write_between(out, "<tr><th scope=\"row\">", f->name, "</th><td class=\"word\">");
	write_between(out, "", f->module, "</td>");
	write_number_cell(out, (double)f->time_ns * 1e-9, " s");
	fprintf(out, "<td>%.1f %%</td>", 100 * f->share);
	write_number_cell(out,
			  counted && f->elapsed_s > 0 ? (double)f->tally.flop * 1e-9 / f->elapsed_s
						      : NAN,
			  "");
	report_put_intensity(intensity, counted ? report_intensity(view, f) : NAN);
	write_between(out, "<td>", intensity, "</td><td class=\"word\">");
	fprintf(out, "%s%s%s</td>", report_bound_words(place, words, sizeof(words)),
		place->level[0] ? place->traced ? " " : " ~" : "", place->level);
	write_between(out, "<td>", report_put_distance(distance, "", place->distance), "</td>");
	write_number_cell(out, place->headroom_s, " s");
	fputs("</tr>\n", out);
}

static void write_table(const struct report_view *view, FILE *out)
{
	fputs("<table>\n<thead><tr><th scope=\"col\">function</th><th scope=\"col\">module</th>"
	      "<th scope=\"col\">user time</th><th scope=\"col\">share</th><th "
	      "scope=\"col\">GFLOP/s</th>"
	      "<th scope=\"col\">flop/byte</th><th scope=\"col\">bound by</th><th "
	      "scope=\"col\">below roof</th>"
	      "<th scope=\"col\">headroom</th></tr></thead>\n<tbody>\n",
	      out);
	for (size_t i = 0; i < view->n_rank && i < STATIC_ROWS; i++)
		write_row(view, &view->model->functions[view->rank[i]], out);
	fputs("</tbody>\n</table>\n", out);
	if (view->n_rank > STATIC_ROWS)
		fprintf(out, "<p>The first %d of %zu functions.</p>\n", STATIC_ROWS, view->n_rank);
}

static struct rf_error *write_reasons(const struct report_view *view,
				      const struct model_function *f, FILE *out)
{
	struct reasons reasons;
	struct rf_error *error = report_reasons(view, f, &reasons);
	if (reasons.n_items)
		write_between(out, "<h3>", f->name, "</h3>\n<ol class=\"why\">\n");
	for (size_t i = 0; i < reasons.n_items; i++) {
		write_between(out, "<li>", reasons.items[i].what, "<p class=\"try\"><b>try: </b>");
		write_between(out, "", reasons.items[i].try, "</p></li>\n");
	}
	if (reasons.n_items)
		fputs("</ol>\n", out);
	reasons_deinit(&reasons);
	return error;
}

/* Of the first functions of the table. */
static struct rf_error *write_all_reasons(const struct report_view *view, FILE *out)
{
	struct rf_error *error = NULL;
	if (!view->n_shown || view->model->functions[view->rank[0]].n_samples == 0)
		return NULL;
	fputs("<h2>Why below the roof, and what one would try</h2>\n", out);
	for (size_t i = 0; !error && i < view->n_shown && i < STATIC_REASONS; i++)
		if (view->model->functions[view->rank[i]].n_samples > 0)
			error = write_reasons(view, &view->model->functions[view->rank[i]], out);
	return error;
}

static void write_notes(const struct report_view *view, FILE *out)
{
	if (!view->n_notes)
		return;
	fputs("<h2>Notes</h2>\n<ul>\n", out);
	for (size_t i = 0; i < view->n_notes; i++)
		write_between(out, "<li>", view->notes[i], "</li>\n");
	fputs("</ul>\n", out);
}

static struct rf_error *write_static(const struct report_view *view, const char *program, FILE *out)
{
	char number[TEXT_NUMBER];
	write_between(out, "<main id=\"static\">\n<h1>", program, "</h1>\n");
	fprintf(out,
		"<p>%s s of user time; the nearer a point is to the roof, the less there is "
		"to gain.</p>\n"
		"<figure>\n",
		text_number(number, (double)view->model->time_ns * 1e-9));
	struct rf_error *error = write_picture(view, out);
	fputs("</figure>\n<h2>Functions</h2>\n", out);
	write_table(view, out);
	if (!error)
		error = write_all_reasons(view, out);
	write_notes(view, out);
	fputs("</main>\n", out);
	return error;
}

/* ---- the page ---- */

static void write_head(const char *program, FILE *out)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<link rel=\"icon\" href=\"data:,\">\n<title>",
		html_policy);
	write_text(out, program);
	fprintf(out, " \xe2\x80\x93 roofline</title>\n<style>\n%s</style>\n</head>\n<body>\n",
		html_style);
}

struct rf_error *report_html(const struct report_view *view, FILE *stream)
{
	char *program = report_program(view->profile);
	write_head(program ? program : "?", stream);
	fputs("<div id=\"app\" hidden></div>\n", stream);
	struct rf_error *error = write_static(view, program ? program : "?", stream);
	free(program);
	if (!error)
		error = write_data(view, stream);
	if (!error)
		error = write_compared(view, stream);
	if (!error)
		fprintf(stream, "<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n",
			html_library, html_script);
	return error;
}
