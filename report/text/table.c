/* The head line, the ranked table and the notes, for a terminal. */
#include "report/text/table.h"

#include "base/text.h"
#include "report/model/model_bandwidths.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/report_account.h"
#include "report/text/terminal.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a name: other columns are left out before it has fewer. */
#define MIN_NAME 16
#define MIN_LONG_NAME 32

enum {
	KEY,
	TIME,
	SPREAD,
	PERCENT,
	NAME,
	POINT,
	INTENSITY,
	MOVED,
	RATE,
	BOUND,
	ROOF,
	BELOW,
	HEADROOM,
	N_COLUMNS
};

/* All but what the table is sorted by can be spared. */
static const struct text_column default_columns[N_COLUMNS] = {
	[KEY] = {"#", false},
	[TIME] = {"time", true, 7},
	[SPREAD] = {"±", true, 2},
	[PERCENT] = {"%", true, 2},
	[NAME] = {"function", false},
	[POINT] = {"GFLOP/s", true, 6},
	[INTENSITY] = {"flop/B", true, 5},
	[MOVED] = {"memory", true, 4},
	[RATE] = {"GB/s", true, 3},
	[BOUND] = {"bound", false},
	[ROOF] = {"roof", true, 1},
	[BELOW] = {"below", true, 8},
	[HEADROOM] = {"headroom", true, 9},
};

struct layout {
	const struct report_view *view;
	double longest; /* seconds: one unit for the whole table */
	struct text_column columns[N_COLUMNS];
	struct text_table table;
};

static double longest_time(const struct report_view *view)
{
	double longest = 0;
	for (size_t i = 0; i < view->n_shown; i++)
		longest =
			fmax(longest, (double)view->model->functions[view->rank[i]].time_ns * 1e-9);
	return longest;
}

static const char *put_below(char *cell, const struct model_place *place)
{
	const char *most = place->at_most ? "≤" : "";
	if (most[0] && place->distance >= 9999.5)
		return "–";
	return report_put_distance(cell, most, place->distance);
}

static const char *put_rate(char *cell, enum model_axis axis, double value, const char *mark)
{
	static const char *const units[] = {
		[AXIS_NONE] = "",
		[AXIS_FLOP] = "",
		[AXIS_BYTES] = " GB/s",
		[AXIS_INSTRUCTIONS] = " GI/s",
	};
	char number[TEXT_NUMBER];
	if (axis == AXIS_NONE || value <= 0)
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, "%s%s%s", text_number(number, value), units[axis], mark);
	return cell;
}

static const char *put_bound(char *cell, const struct model_place *place)
{
	if (place->traced && place->bound == BOUND_COMPUTE) /* its own mix is the lower ceiling */
		return strcat(strcpy(cell, report_bound_name(place->bound)),
			      place->bound_or ? "?" : "");
	if (place->bound == BOUND_UNKNOWN)
		return "–";
	snprintf(cell, 64, "%s%s%s%s", report_bound_name(place->bound), place->bound_or ? "?" : "",
		 !place->level[0] ? ""
		 : place->traced  ? " "
				  : " ~",
		 place->level);
	return cell;
}

/* Where the interval of the bytes reaches down to 0, only the lower end of the intensity is known.
 */
static const char *put_intensity(char *cell, const struct report_view *view,
				 const struct model_function *f)
{
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const double least = moved ? (double)f->tally.flop / (moved->bytes + moved->halfwidth) : 0;
	char number[TEXT_NUMBER];
	if (!f->tally.flop)
		return "–";
	if (moved && level->at_least) /* 0 bytes at least say nothing about the intensity */
		snprintf(cell, 64, isfinite(level->intensity) ? "≤%s" : "–",
			 text_number(number, level->intensity));
	else if (moved && moved->bytes > 0 && moved->halfwidth >= moved->bytes &&
		 least < MODEL_IN_CACHE)
		snprintf(cell, 64, ">%s", text_number(number, least));
	else if (moved)
		report_put_intensity(cell, report_intensity(view, f));
	else if (isinf(f->intensity) && model_from_counters(view->profile))
		return "–"; /* no bytes from counters: not that it moved none, but not known */
	else
		text_number(cell, f->intensity);
	return cell;
}

static void put_moved(struct layout *layout, const struct model_function *f)
{
	const struct report_view *view = layout->view;
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const bool unsure = moved && !(moved->halfwidth <= REPORT_SURE * moved->bytes);
	const bool none = moved && moved->bytes == 0;
	char cell[64];
	text_table_put(&layout->table, MOVED, STYLE_PLAIN, "%s%s%s",
		       level && level->at_least ? "≥" : "",
		       unsure && !(none && level->at_least) ? "≈" : "",
		       report_put_bytes(cell, moved ? moved->bytes : NAN));
	text_table_text(&layout->table, RATE, text_number(cell, level ? level->rate : NAN));
}

static void put_function(struct layout *layout, const struct model_function *f, size_t rank)
{
	const struct model_place *place = &f->place;
	struct text_table *table = &layout->table;
	const char *mark = f->n_samples && f->n_samples < MODEL_FEW_SAMPLES ? "≈" : "";
	char cell[64];
	const char key = report_plot_key(rank);
	text_table_row(table);
	text_table_put(table, KEY, STYLE_HEAD, "%.1s", &key);
	text_table_put(table, TIME, STYLE_PLAIN, "%s%s", mark,
		       report_put_time(cell, f->n_samples ? (double)f->time_ns * 1e-9 : NAN,
				       layout->longest));
	if (f->n_samples)
		text_table_put(table, SPREAD, STYLE_PLAIN, "%.1f %%",
			       fmin(999, 100 * f->halfwidth_s / ((double)f->time_ns * 1e-9)));
	text_table_text(table, PERCENT, report_put_share(cell, f->share));
	text_table_text(table, NAME, f->name);
	text_table_text(table, POINT, put_rate(cell, place->axis, place->point, ""));
	text_table_text(table, INTENSITY, put_intensity(cell, layout->view, f));
	put_moved(layout, f);
	text_table_put(table, BOUND, report_bound_style(place), "%s", put_bound(cell, place));
	text_table_text(table, ROOF,
			put_rate(cell, place->axis, place->roof, place->borrowed ? "*" : ""));
	text_table_put(table, BELOW, place->above ? STYLE_FAULT : STYLE_PLAIN, "%s",
		       put_below(cell, place));
	text_table_put(table, HEADROOM, STYLE_HEAD, "%s",
		       report_put_time(cell, place->headroom_s, layout->longest));
}

/* A last row that sums up: uncounted time, or what is not shown. */
static void put_sum(struct layout *layout, double time_ns, const char *name, const char *bound)
{
	const double all = (double)layout->view->model->time_ns;
	struct text_table *table = &layout->table;
	char cell[64];
	text_table_row(table);
	text_table_put(table, TIME, STYLE_DIM, "%s",
		       report_put_time(cell, time_ns * 1e-9, layout->longest));
	text_table_put(table, PERCENT, STYLE_DIM, "%s",
		       report_put_share(cell, all > 0 ? time_ns / all : 0));
	text_table_put(table, NAME, STYLE_DIM, "%s", name);
	text_table_put(table, BOUND, STYLE_DIM, "%s", bound);
}

static const char *row_word(const struct report_view *view, bool many)
{
	static const char *const words[][2] = {
		[BY_FUNCTION] = {"function", "functions"},
		[BY_LOOP] = {"loop", "loops"},
		[BY_LINE] = {"line", "lines"},
		[BY_GROUP] = {"function", "functions"},
		[BY_WAIT] = {"function", "functions"},
		[BY_MODULE] = {"module", "modules"},
		[BY_THREAD] = {"thread", "threads"},
		[BY_PROCESS] = {"process", "processes"},
		[BY_CALL_PATH] = {"call path", "call paths"},
		[BY_INLINED] = {"function", "functions"},
		[BY_PYTHON] = {"function", "functions"},
	};
	return words[view->shaped ? view->options->by : BY_FUNCTION][many];
}

/* Sums up the rows with time that are not shown: behind the last rank, below --min, left out. */
static void put_sums(struct layout *layout)
{
	const struct report_view *view = layout->view;
	double time[3] = {0};
	size_t n[3] = {0};
	char name[96];
	for (size_t i = view->n_shown; i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const int which = report_is_small(view, f);
		time[which] += (double)f->time_ns;
		n[which] += f->time_ns > 0;
	}
	for (size_t i = 0; i < view->model->n_functions; i++)
		if (view->model->functions[i].left_out) {
			time[2] += (double)view->model->functions[i].time_ns;
			n[2] += view->model->functions[i].time_ns > 0;
		}
	if (n[0]) {
		snprintf(name, sizeof(name), "(%zu more %s)", n[0], row_word(view, n[0] > 1));
		put_sum(layout, time[0], name, "");
	}
	if (n[1]) {
		snprintf(name, sizeof(name), "(%zu %s below %g %%)", n[1], row_word(view, n[1] > 1),
			 100 * view->options->min_share);
		put_sum(layout, time[1], name, "");
	}
	if (n[2])
		put_sum(layout, time[2],
			view->options->ignore ? view->options->focus
							? "(left out by --focus, --ignore)"
							: "(left out by --ignore)"
					      : "(left out by --focus)",
			"");
	if (view->shaped && (n[0] || n[1] || n[2]))
		put_sum(layout, (double)view->model->time_ns, "(all)", "");
	if (view->model->uncounted_ns)
		put_sum(layout, (double)view->model->uncounted_ns, "(all that was not counted)",
			"uncounted");
}

static size_t sort_column(const struct report_view *view)
{
	static const size_t of[] = {
		[SORT_HEADROOM] = HEADROOM, [SORT_DISTANCE] = BELOW, [SORT_TIME] = TIME,
		[SORT_FLOPS] = POINT,       [SORT_BYTES] = MOVED,    [SORT_NAME] = NAME,
	};
	return of[view->sort];
}

/* Names of loops, lines and call paths need more columns than those of functions. */
static size_t least_name(const struct report_view *view)
{
	const enum report_by by = view->shaped ? view->options->by : BY_FUNCTION;
	return by == BY_LOOP || by == BY_CALL_PATH || by == BY_LINE ? MIN_LONG_NAME : MIN_NAME;
}

static void choose_columns(struct layout *layout)
{
	const struct report_view *view = layout->view;
	struct text_table *table = &layout->table;
	const bool paths = view->shaped && view->options->by == BY_CALL_PATH;
	memcpy(layout->columns, default_columns, sizeof(default_columns));
	layout->columns[NAME].title = row_word(view, false);
	table->hidden[SPREAD] = !view->model->runs.n;
	if (view->options->level)
		layout->columns[MOVED].title = view->options->level;
	layout->columns[sort_column(view)].spared = 0;
	table->hidden[KEY] = !view->options->plot;
	table->hidden[MOVED] = table->hidden[RATE] = view->model->memory == MEMORY_UNKNOWN || paths;
	table->hidden[INTENSITY] = paths; /* work is not counted by path */
}

struct rf_error *report_functions(const struct report_view *view, FILE *stream)
{
	struct layout layout = {.view = view, .longest = longest_time(view)};
	struct text_table *table = &layout.table;
	char words[192];
	*table = TEXT_TABLE(view->terminal, layout.columns, NAME, least_name(view));
	choose_columns(&layout);
	for (size_t i = 0; i < view->n_shown; i++)
		put_function(&layout, &view->model->functions[view->rank[i]], i);
	put_sums(&layout);
	if (!table->n_rows && !table->failed) {
		fputs("  no function took any time or did any work\n", stream);
		return NULL;
	}
	struct rf_error *error = text_table_end(table, stream);
	snprintf(words, sizeof(words), "narrow: without %s", table->left_out);
	return error || !table->left_out[0]
		       ? error
		       : terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ", words);
}

static void print_roofs(const struct report_view *view, FILE *stream)
{
	enum roof_level levels[MODEL_LEVELS];
	const char *precision = report_main_precision(view->model);
	const int threads = report_roof_threads(view);
	const struct roof *peak =
		model_peak_row(view->profile, roof_precision_find(precision), threads);
	char number[TEXT_NUMBER];
	if (!peak) {
		precision = "double";
		peak = model_peak_row(view->profile, roof_precision_find(precision), threads);
	}
	if (!peak)
		return;
	fprintf(stream, " · roofs of %d thread%s: %s GF/s %s (%s %s)", threads,
		threads == 1 ? "" : "s", text_number(number, peak->best),
		report_precision_short(precision), report_isa_name(peak->isa),
		report_op_name(peak->op));
	size_t n = model_levels(view->profile, levels);
	for (size_t i = n; i-- > 0;)
		fprintf(stream, "%s%s %s", i + 1 == n ? ", reading " : " / ",
			roof_level_name(levels[i]),
			text_number(number, model_level_most(view->profile, levels[i], threads,
							     DIRECTION_READ)));
	if (n)
		fputs(" GB/s", stream);
}

struct rf_error *report_head(const struct report_view *view, FILE *stream)
{
	char *program = report_program(view->profile), *line = NULL;
	char *shown = program ? text_shorten(program, 40) : NULL;
	const int threads = (int)profile_number_fact(view->profile, "threads", 0);
	size_t size;
	FILE *text = shown ? open_memstream(&line, &size) : NULL;
	if (text) {
		fputs(shown, text);
		if (threads > 0)
			fprintf(text, " · %d thread%s", threads, threads == 1 ? "" : "s");
		report_put_account(view, text);
		print_roofs(view, text);
	}
	const bool made = text && fclose(text) == 0;
	struct rf_error *error =
		made ? terminal_sentence(view->terminal, stream, STYLE_PLAIN, "rfprof: ", line)
		     : rf_error_no_memory();
	free(line);
	free(program);
	free(shown);
	return error;
}
