/* What goes to the terminal: head line, table, plot and notes, or a page about one function. */

#include "report/text/terminal_report.h"

#include "base/text.h"
#include "report/reasons/advice.h"
#include "report/reasons/notes.h"
#include "report/text/function_page.h"
#include "report/text/plot_text.h"
#include "report/text/python_table.h"
#include "report/text/report_account.h"
#include "report/text/report_levels.h"
#include "report/text/report_processes.h"
#include "report/text/table.h"
#include "report/text/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What costs most of the wall time, and what to try. */
static struct rf_error *print_advice(const struct report_view *view, FILE *stream)
{
	char *text = NULL;
	if (view->options->by != BY_FUNCTION)
		return NULL;
	struct rf_error *error = report_advice(view, &text);
	if (!error && text)
		error = terminal_sentence(view->terminal, stream, STYLE_HEAD, "  → ", text);
	free(text);
	return error;
}

static struct rf_error *print_all(const struct report_view *view, FILE *stream)
{
	const struct report_options *options = view->options;
	const bool apart = options->processes == PROCESSES_TREE && view->model->n_processes > 1;
	const bool python = options->by == BY_PYTHON;
	const char *hint = python ? NULL : report_rows_hint(view);
	struct rf_error *error = report_head(view, stream);
	error = error ?: report_strip(view, stream);
	if (!error && options->by == BY_WAIT)
		error = report_waits(view, stream);
	else if (!error && options->by == BY_GROUP)
		error = report_groups(view, stream);
	else if (!error && !apart)
		error = python ? report_python(view, stream) : report_functions(view, stream);
	if (!error && hint)
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  · ", hint);
	if (!error && !apart)
		error = print_advice(view, stream);
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
