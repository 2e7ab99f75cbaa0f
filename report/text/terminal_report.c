/* What goes to the terminal: head line, table, plot and notes, or a page about one function. */
#include "report/rows/ranking.h"

#include "base/text.h"
#include "report/reasons/reasons.h"
#include "report/rows/view.h"
#include "report/text/function_page.h"
#include "report/text/plot_text.h"
#include "report/text/report_levels.h"
#include "report/text/report_processes.h"
#include "report/text/table.h"
#include "report/text/terminal_report.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rf_error *no_memory_unless(bool done)
{
	return done ? NULL : report_no_memory();
}

static bool is_clean(const char *word)
{
	char *clean = text_clean(word);
	const bool same = clean && strcmp(clean, word) == 0;
	free(clean);
	return same;
}

/* The command for the page about a function; to be freed.  What cannot be shown as it is has a word
 * in its place. */
static char *page_command(const struct report_view *view, const struct model_function *f)
{
	const char *file = view->options->saved_as;
	char *command = NULL;
	size_t size;
	FILE *text = open_memstream(&command, &size);
	if (!text)
		return NULL;
	fputs(file ? "rfprof report -f " : "the same command with -f ", text);
	text_write_word(text, is_clean(f->name) ? f->name : "NAME");
	if (file) {
		fputs(*file == '-' ? " ./" : " ", text); /* no option */
		text_write_word(text, is_clean(file) ? file : "FILE.rfp");
	}
	return fclose(text) == 0 ? command : NULL;
}

/* The first row in words, and where its reasons are told. */
static bool print_verdict(const struct report_view *view, FILE *stream)
{
	const struct model_function *f =
		view->n_shown ? &view->model->functions[view->rank[0]] : NULL;
	const enum report_by by = view->options->by;
	struct reasons reasons;
	char saved[64], *text = NULL, *name = f ? text_clean(f->name) : NULL;
	if (!f || !name || !(f->place.headroom_s > 0) || view->sort != SORT_HEADROOM ||
	    by != BY_FUNCTION) {
		free(name);
		return true;
	}
	char *cut = text_shorten(name, 60), *command = page_command(view, f);
	report_put_time(saved, f->place.headroom_s, f->place.headroom_s);
	struct rf_error *error = report_reasons(view, f, &reasons);
	bool done = cut && command && !error &&
		    asprintf(&text, "%s could save most, %s%s%s. What to try: %s", cut, saved,
			     reasons.n_items ? ": " : "",
			     reasons.n_items ? reasons.items[0].what : "", command) >= 0;
	done = done && terminal_sentence(view->terminal, stream, STYLE_HEAD, "  → ", text);
	if (done || text)
		free(text);
	free(cut);
	free(command);
	free(name);
	rf_error_destroy(error);
	reasons_deinit(&reasons);
	return done;
}

/* What is particular about rows that are not functions. */
static bool print_hint(const struct report_view *view, FILE *stream)
{
	const char *text = NULL;
	if (view->options->by == BY_LINE && !view->profile->n_lines)
		text = "this profile has no source lines: the program has no debug information, or "
		       "it was recorded by an older "
		       "rfprof; rows are functions";
	if (view->options->by == BY_INLINED && !view->profile->n_inlined_code)
		text = "this profile has no inlined functions: the program has no debug "
		       "information, or none were inlined, or it was "
		       "recorded by an older rfprof; rows are functions";
	if (view->options->by == BY_CALL_PATH)
		text = "work is counted by function, not by path: speeds and roofs are those of a "
		       "path's last function, its "
		       "headroom is divided by time";
	return !text || terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  · ", text);
}

static struct rf_error *print_all(const struct report_view *view, FILE *stream)
{
	const struct report_options *options = view->options;
	const bool apart = options->processes == PROCESSES_TREE && view->model->n_processes > 1;
	struct rf_error *error = no_memory_unless(report_head(view, stream));
	if (!error && !apart)
		error = report_functions(view, stream);
	if (!error && view->shaped)
		error = no_memory_unless(print_hint(view, stream));
	if (!error && !apart)
		error = no_memory_unless(print_verdict(view, stream));
	if (!error && options->plot)
		error = report_plot(view, stream);
	if (!error && options->levels)
		error = report_levels(view, stream);
	if (!error && !view->shaped)
		error = report_tree(view, stream);
	for (size_t i = 0; !error && i < view->n_notes; i++)
		error = no_memory_unless(terminal_sentence(view->terminal, stream, STYLE_DIM,
							   "  · ", view->notes[i]));
	return error;
}

struct rf_error *report_terminal(const struct report_view *asked, FILE *stream)
{
	const struct terminal terminal = terminal_of(stream, asked->options);
	struct report_view view = *asked;
	view.terminal = &terminal;
	/* Widths, and the points of numbers, are the same whatever the user's locale is. */
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct rf_error *error = view.options->function ? report_function_page(&view, stream)
							: print_all(&view, stream);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return error;
}
