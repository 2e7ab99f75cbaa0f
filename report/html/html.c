/* Everything as one page for a browser: readable as it stands, and the data for the scripts that
 * make more of it (html/, put in by html_assets).  The data are those of json.c in another
 * arrangement (html_data.c).
 *
 * Names come from files that nobody vouches for.  They stand in the page as text (text_write_xml)
 * and in JSON in which no character has a meaning in HTML; the policy in the head lets no other
 * scripts run than those here. */
#include "report/html/html.h"

#include "base/text.h"
#include "report/account/account.h"
#include "report/html/html_assets.h"
#include "report/html/html_calls.h"
#include "report/html/html_data.h"
#include "report/html/html_ranks.h"
#include "report/html/html_sources.h"
#include "report/json/json_writer.h"
#include "report/reasons/advice.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"
#include "report/svg/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STATIC_REASONS 5 /* functions whose reasons are told without scripts */
#define STATIC_ROWS 200  /* of the table that is there without scripts */
#define NAME_COLUMNS 60

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
	char *cut = clean && strlen(clean) > JSON_LONG_TEXT
			    ? text_without_middle(clean, JSON_LONG_TEXT)
			    : NULL;
	text_write_xml(out, cut ? cut : text);
	free(cut);
	free(clean);
}

static void write_between(FILE *out, const char *before, const char *text, const char *after)
{
	fputs(before, out);
	write_text(out, text);
	fputs(after, out);
}

static void write_number_cell(FILE *out, const char *style, double value, const char *unit)
{
	char number[TEXT_NUMBER];
	fprintf(out, "<td class=\"%s\">%s%s</td>", style, text_number(number, value),
		isfinite(value) ? unit : "");
}

/* What holds it, in the words of the reasons. */
static struct rf_error *write_held(const struct report_view *view, const struct model_function *f,
				   FILE *out)
{
	char *text = NULL, *held_by = NULL;
	struct rf_error *error = report_reasons_text(view, f, &text, &held_by);
	write_between(out, "<td class=\"word held\">", held_by ? held_by : "–", "</td>");
	free(text);
	free(held_by);
	return error;
}

static struct rf_error *write_row(const struct report_view *view, const struct model_function *f,
				  size_t rank, FILE *out)
{
	const struct model_place *place = &f->place;
	const bool placed = place->distance > 0 && isfinite(place->distance);
	char *name = text_shorten(f->name, NAME_COLUMNS), unit[32], of_roof[64];
	if (!name)
		return rf_error_no_memory();
	fprintf(out, "<tr><td class=\"rank\">%zu</td>", rank + 1);
	write_number_cell(out, "time", (double)f->time_ns * 1e-9, " s");
	fprintf(out, "<td class=\"share\">%.1f %%</td>", 100 * f->share);
	write_between(out, "<th scope=\"row\">", name, " <span class=\"module\">");
	write_between(out, "", f->module, "</span></th>");
	free(name);
	snprintf(unit, sizeof(unit), " %s",
		 place->axis == AXIS_NONE ? "" : report_point_unit(place->axis));
	write_number_cell(out, "rate", place->axis == AXIS_NONE ? NAN : place->point, unit);
	write_between(out, "<td class=\"distance\">",
		      report_put_of_roof(of_roof, "", placed ? place->distance : NAN), "</td>");
	struct rf_error *error = write_held(view, f, out);
	write_number_cell(out, "headroom", place->headroom_s, " s");
	fputs("</tr>\n", out);
	return error;
}

static struct rf_error *write_table(const struct report_view *view, FILE *out)
{
	static const char *const columns[] = {
		"#", "time", "%", "function", "speed", "of roof", "held back by", "could save"};
	struct rf_error *error = NULL;
	fputs("<div class=\"scroll\"><table class=\"functions\">\n<thead><tr>", out);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		fprintf(out, "<th scope=\"col\">%s</th>", columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; !error && i < view->n_rank && i < STATIC_ROWS; i++)
		error = write_row(view, &view->model->functions[view->rank[i]], i, out);
	fputs("</tbody>\n</table></div>\n", out);
	if (view->n_rank > STATIC_ROWS)
		fprintf(out, "<p>The first %d of %zu functions.</p>\n", STATIC_ROWS, view->n_rank);
	return error;
}

static struct rf_error *write_reasons(const struct report_view *view,
				      const struct model_function *f, FILE *out)
{
	struct reasons reasons;
	struct rf_error *error = report_reasons(view, f, &reasons);
	if (reasons.n_items)
		write_between(out, "<h3>", f->name, "</h3>\n<ol class=\"why\">\n");
	for (size_t i = 0; i < reasons.n_items; i++) {
		write_between(out, "<li><b>", reasons.items[i].name, "</b>: ");
		write_between(out, "", reasons.items[i].what, "<p class=\"try\"><b>try: </b>");
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
		write_between(out, "<li>", view->notes[i].text, "</li>\n");
	fputs("</ul>\n", out);
}

/* The parts of the threads' lives, and what costs most of the wall time. */
static struct rf_error *write_account(const struct report_view *view, FILE *out)
{
	const struct account *account = view->account;
	char *text = NULL;
	if (account && account->known)
		fprintf(out,
			"<p>%s s wall: %s s user, %s s kernel, %s s waiting, %s s ready.</p>\n",
			REPORT_NUMBER(account->wall_s), REPORT_NUMBER(account->user_s),
			REPORT_NUMBER(account->kernel_s), REPORT_NUMBER(account->waiting_s),
			REPORT_NUMBER(account->runnable_s));
	struct rf_error *error = account ? report_advice(view, &text, NULL) : NULL;
	if (!error && text)
		write_between(out, "<p>→ ", text, "</p>\n");
	free(text);
	return error;
}

static struct rf_error *write_static(const struct report_view *view, const char *program, FILE *out)
{
	char number[TEXT_NUMBER];
	write_between(out, "<main id=\"static\">\n<h1>", program, "</h1>\n");
	struct rf_error *error = write_account(view, out);
	fprintf(out,
		"<p>%s s of processor time; the nearer a point is to the roof, the less there is "
		"to gain.</p>\n"
		"<figure>\n",
		text_number(number, (double)view->model->time_ns * 1e-9));
	error = error ?: write_picture(view, out);
	fputs("</figure>\n", out);
	error = error ?: html_write_ranks(view, out);
	fputs("<h2>Functions</h2>\n", out);
	error = error ?: write_table(view, out);
	error = error ?: write_all_reasons(view, out);
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
	const char *name = report_base_name(program ? program : "?");
	write_head(name, stream);
	fputs("<div id=\"app\" hidden></div>\n", stream);
	struct rf_error *error = write_static(view, name, stream);
	free(program);
	if (!error)
		error = html_write_data(view, stream);
	if (!error)
		error = html_write_compared(view, stream) ?: html_write_calls(view, stream)
							?: html_write_sources(view, stream);
	if (!error)
		fprintf(stream, "<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n",
			html_library, html_script);
	return error;
}
