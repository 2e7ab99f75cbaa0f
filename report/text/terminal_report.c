/* What goes to the terminal: head line, table, plot and notes, or a page about one function. */

#include "report/text/terminal_report.h"

#include "base/text.h"
#include "report/reasons/advice.h"
#include "report/reasons/notes_rows.h"
#include "report/text/function_page.h"
#include "report/text/kernel_table.h"
#include "report/text/other_table.h"
#include "report/text/plot_text.h"
#include "report/text/python_table.h"
#include "report/text/report_account.h"
#include "report/text/report_ecm.h"
#include "report/text/report_levels.h"
#include "report/text/report_processes.h"
#include "report/text/report_ranks.h"
#include "report/text/report_regions.h"
#include "report/text/table.h"
#include "report/text/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "rfprof report -f 1 app.rfp": the same profile again, shown in another way. */
static void put_command(const struct report_view *view, FILE *text, const char *option)
{
	const char *file = view->options->saved_as;
	fprintf(text, "%s %s", file ? "rfprof report" : "the same command with", option);
	if (!file || !*file)
		return;
	fputc(' ', text);
	text_write_path(text, file);
}

/* What costs most of the wall time, and what to try. */
static struct rf_error *print_advice(const struct report_view *view, FILE *stream)
{
	char *text = NULL, *line = NULL, option[32];
	size_t row = 0, size;
	if (view->options->by != BY_FUNCTION)
		return NULL;
	struct rf_error *error = report_advice(view, &text, &row);
	FILE *to = text ? open_memstream(&line, &size) : NULL;
	if (to && row)
		fprintf(to, "%zu: ", row);
	if (to)
		fputs(text, to);
	if (to && row) {
		fputs(": ", to);
		snprintf(option, sizeof(option), "-f %zu", row);
		put_command(view, to, option);
	}
	if (!error && text && (!to || fclose(to) != 0))
		error = rf_error_no_memory();
	char *clean = line ? text_clean(line) : NULL;
	if (!error && clean)
		error = terminal_sentence(view->terminal, stream, STYLE_HEAD, "→ ", clean);
	free(clean);
	free(line);
	free(text);
	return error;
}

static size_t n_hidden_notes(const struct report_view *view)
{
	size_t n = 0;
	for (size_t i = 0; i < view->n_notes; i++)
		n += !view->notes[i].first && !view->options->verbose;
	return n;
}

static struct rf_error *print_notes(const struct report_view *view, FILE *stream)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->n_notes; i++)
		if (view->notes[i].first || view->options->verbose)
			error = terminal_sentence(view->terminal, stream, STYLE_DIM, "· ",
						  view->notes[i].text);
	return error;
}

/* Where the rest of it is. */
static struct rf_error *print_more(const struct report_view *view, FILE *stream)
{
	const size_t n = n_hidden_notes(view);
	char *line = NULL;
	size_t size;
	FILE *text = n ? open_memstream(&line, &size) : NULL;
	if (text) {
		fprintf(text, "%zu note%s: ", n, n == 1 ? "" : "s");
		put_command(view, text, "-v");
	}
	if (text && view->options->saved_as)
		fputs(" · page: with --html page.html --open", text);
	if (n && (!text || fclose(text) != 0))
		return rf_error_no_memory();
	char *clean = line ? text_clean(line) : NULL;
	struct rf_error *error =
		clean ? terminal_sentence(view->terminal, stream, STYLE_DIM, "", clean) : NULL;
	free(clean);
	free(line);
	return error;
}

static struct rf_error *print_all(const struct report_view *view, FILE *stream)
{
	const struct report_options *options = view->options;
	const bool apart = options->processes == PROCESSES_TREE && view->model->n_processes > 1;
	const bool python = options->by == BY_PYTHON;
	const char *hint = python ? NULL : report_rows_hint(view);
	struct rf_error *error = report_head(view, stream);
	error = error ?: report_strip(view, stream) ?: report_ranks(view, stream);
	if (!error && options->by == BY_WAIT)
		error = report_waits(view, stream);
	else if (!error && options->by == BY_GROUP)
		error = report_groups(view, stream);
	else if (!error && !apart)
		error = python ? report_python(view, stream) : report_functions(view, stream);
	if (!error && !apart)
		error = report_kernels(view, stream);
	if (!error && options->by == BY_FUNCTION)
		error = report_other_caches(view, stream);
	if (!error && (options->by == BY_WAIT || options->by == BY_THREAD))
		error = report_regions(view, stream);
	if (!error && hint)
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  · ", hint);
	if (!error && !apart)
		error = print_advice(view, stream);
	if (!error && options->plot)
		error = report_plot(view, stream);
	if (!error && options->ecm)
		error = report_ecm(view, stream);
	if (!error && options->levels)
		error = report_levels(view, stream);
	if (!error && !view->shaped)
		error = report_tree(view, stream);
	return error ?: print_notes(view, stream) ?: print_more(view, stream);
}

struct rf_error *report_terminal(const struct report_view *asked, FILE *stream)
{
	const struct terminal terminal = terminal_of(stream, asked->options);
	struct report_view view = *asked;
	view.terminal = &terminal;
	const struct utf8_locale locale = utf8_locale_begin();
	struct rf_error *error = view.options->function ? report_function_page(&view, stream)
							: print_all(&view, stream);
	utf8_locale_end(locale);
	return error;
}
