/* What goes to the terminal: head line, table, plot and notes, or a page about one function. */
#include "report/ranking.h"
#include "report/reasons.h"
#include "report/text.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static struct rf_error *no_memory_unless(bool done) { return done ? NULL : report_no_memory(); }

/* The first row in words, and where its reasons are told. */
static bool print_verdict(const struct report_view *view, FILE *stream)
{
	const struct model_function *f = view->n_shown ? &view->model->functions[view->rank[0]] : NULL;
	const enum report_by by = view->options->by;
	struct reasons reasons = {0};
	char saved[64], *text = NULL, *name = f ? text_clean(f->name) : NULL;
	if (!f || !name || !(f->place.headroom_s > 0) || view->sort != SORT_HEADROOM || by != BY_FUNCTION) {
		free(name);
		return true;
	}
	char *cut = text_shorten(name, 60);
	report_put_time(saved, f->place.headroom_s, f->place.headroom_s);
	report_reasons(view, f, &reasons);
	bool done = cut && !reasons.failed &&
		    asprintf(&text, "%s could save most, %s%s%s. What to try: rfprof report -f NAME FILE.rfp", cut, saved,
			     reasons.n_items ? ": " : "", reasons.n_items ? reasons.items[0].what : "") >= 0;
	done = done && terminal_sentence(view->terminal, stream, STYLE_HEAD, "  → ", text);
	if (done || text)
		free(text);
	free(cut);
	free(name);
	reasons_deinit(&reasons);
	return done;
}

/* What is particular about rows that are not functions. */
static bool print_hint(const struct report_view *view, FILE *stream)
{
	const char *text = NULL;
	if (view->options->by == BY_LINE && !view->profile->n_lines)
		text = "this profile has no source lines: the program has no debug information, or it was recorded by an older "
		       "rfprof; rows are functions";
	if (view->options->by == BY_INLINED && !view->profile->n_inlined_code)
		text = "this profile has no inlined functions: the program has no debug information, or none were inlined, or it was "
		       "recorded by an older rfprof; rows are functions";
	if (view->options->by == BY_CALL_PATH)
		text = "work is counted by function, not by path: speeds and roofs are those of a path's last function, its "
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
		error = no_memory_unless(terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ", view->notes[i]));
	return error;
}

/* Ranks and prints the rows of another model than the plain one. */
static struct rf_error *print_shaped(const struct report_view *plain, struct model *model, FILE *stream)
{
	struct report_view view = *plain;
	view.model = model;
	view.shaped = true;
	view.notes = NULL;
	view.n_notes = view.cap_notes = 0;
	size_t *rank = report_rank(&view);
	view.rank = rank;
	struct rf_error *error = rank ? report_notes(&view) : report_no_memory();
	if (!error)
		error = print_all(&view, stream);
	report_notes_deinit(&view);
	free(rank);
	return error;
}

static struct rf_error *print_paths(const struct report_view *plain, FILE *stream)
{
	struct model paths;
	struct rf_error *error = call_paths_create(plain, &paths);
	if (error)
		return error;
	error = print_shaped(plain, &paths, stream);
	call_paths_destroy(&paths);
	return error;
}

/* The uncounted time is what the plain model has found. */
static struct rf_error *print_groups(const struct report_view *plain, FILE *stream)
{
	struct grouping grouping;
	struct model model;
	struct rf_error *error = grouping_create(plain, &grouping);
	if (error)
		return error;
	const struct model_choice choice = {.level = plain->options->level, .direction = plain->options->direction,
					    .groups = &grouping.groups};
	error = model_build_as(plain->profile, &choice, &model);
	if (!error) {
		struct model shown = model;
		shown.uncounted = plain->model->uncounted;
		shown.n_uncounted = plain->model->n_uncounted;
		shown.uncounted_ns = plain->model->uncounted_ns;
		error = print_shaped(plain, &shown, stream);
		model_deinit(&model);
	}
	grouping_destroy(&grouping);
	return error;
}

static struct rf_error *print_as_asked(const struct report_view *view, FILE *stream)
{
	const struct report_options *options = view->options;
	if (options->function)
		return report_function_page(view, stream);
	if (options->by == BY_CALL_PATH)
		return print_paths(view, stream);
	if (options->by != BY_FUNCTION || options->focus || options->ignore || options->min_share > 0)
		return print_groups(view, stream);
	return print_all(view, stream);
}

struct rf_error *report_terminal(const struct report_view *plain, FILE *stream)
{
	const struct terminal terminal = terminal_of(stream, plain->options);
	struct report_view view = *plain;
	view.terminal = &terminal;
	/* Widths, and the points of numbers, are the same whatever the user's locale is. */
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct rf_error *error = print_as_asked(&view, stream);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return error;
}
