/* What goes to the terminal: head line, table, plot and notes, or a page about one function. */

#include "report/text/terminal_report.h"

#include "base/text.h"
#include "report/reasons/notes.h"
#include "report/reasons/reasons.h"
#include "report/text/cells.h"
#include "report/text/function_page.h"
#include "report/text/plot_text.h"
#include "report/text/python_table.h"
#include "report/text/report_levels.h"
#include "report/text/report_processes.h"
#include "report/text/table.h"
#include "report/text/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command for the page about a function; to be freed. */
static char *page_command(const struct report_view *view, const struct model_function *f)
{
	const char *file = view->options->saved_as;
	char *command = NULL;
	size_t size;
	FILE *text = open_memstream(&command, &size);
	if (!text)
		return NULL;
	fputs(file ? "rfprof report -f " : "the same command with -f ", text);
	text_write_word(text, f->name);
	if (file) {
		fputc(' ', text);
		text_write_path(text, file);
	}
	return fclose(text) == 0 ? command : NULL;
}

/* "dot could save most, 284 ms: WHY. What to try: COMMAND" */
static struct rf_error *print_saving(const struct report_view *view, const struct model_function *f,
				     const struct reasons *reasons, FILE *stream)
{
	char saved[64], *text = NULL, *cut = text_shorten(f->name, 60),
			*command = page_command(view, f);
	report_put_time(saved, f->place.headroom_s, f->place.headroom_s);
	if (!cut || !command ||
	    asprintf(&text, "%s could save most, %s%s%s. What to try: %s", cut, saved,
		     reasons->n_items ? ": " : "", reasons->n_items ? reasons->items[0].what : "",
		     command) < 0)
		text = NULL;
	struct rf_error *error =
		text ? terminal_sentence(view->terminal, stream, STYLE_HEAD, "  → ", text)
		     : rf_error_no_memory();
	free(text);
	free(cut);
	free(command);
	return error;
}

/* The first row in words, and where its reasons are told. */
static struct rf_error *print_verdict(const struct report_view *view, FILE *stream)
{
	const struct model_function *f =
		view->n_shown ? &view->model->functions[view->rank[0]] : NULL;
	struct reasons reasons;
	if (!f || !(f->place.headroom_s > 0) || view->sort != SORT_HEADROOM ||
	    view->options->by != BY_FUNCTION)
		return NULL;
	struct rf_error *error = report_reasons(view, f, &reasons);
	if (!error)
		error = print_saving(view, f, &reasons, stream);
	reasons_deinit(&reasons);
	return error;
}

static struct rf_error *print_all(const struct report_view *view, FILE *stream)
{
	const struct report_options *options = view->options;
	const bool apart = options->processes == PROCESSES_TREE && view->model->n_processes > 1;
	const bool python = options->by == BY_PYTHON;
	const char *hint = python ? NULL : report_rows_hint(view);
	struct rf_error *error = report_head(view, stream);
	if (!error && !apart)
		error = python ? report_python(view, stream) : report_functions(view, stream);
	if (!error && hint)
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  · ", hint);
	if (!error && !apart)
		error = print_verdict(view, stream);
	if (!error && options->plot)
		error = report_plot(view, stream);
	if (!error && options->levels)
		error = report_levels(view, stream);
	if (!error && !view->shaped)
		error = report_tree(view, stream);
	for (size_t i = 0; !error && i < view->n_notes; i++)
		error = terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ",
					  view->notes[i]);
	return error;
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
