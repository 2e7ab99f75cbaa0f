/* The head line, the ranked table and the notes, for a terminal. */
#include "report/text/table.h"

#include "base/text.h"
#include "report/model/model_bandwidths.h"
#include "report/reasons/reasons.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"
#include "report/rows/short_names.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/report_account.h"
#include "report/text/terminal.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a name: other columns are left out before it has fewer. */
#define MIN_NAME 14
#define MIN_LONG_NAME 32

enum {
	RANK,
	KEY,
	TIME,
	SPREAD,
	PERCENT,
	NAME,
	INTENSITY,
	MOVED,
	RATE,
	POINT,
	BOUND,
	ROOF,
	OF_ROOF,
	HELD_BY,
	HEADROOM,
	N_COLUMNS
};

/* All but what the table is sorted by can be spared. */
static const struct text_column default_columns[N_COLUMNS] = {
	[RANK] = {"", true, 10},
	[KEY] = {"#", false},
	[TIME] = {"time", true, 11},
	[SPREAD] = {"±", true, 2},
	[PERCENT] = {"%", true, 8},
	[NAME] = {"function", false},
	[INTENSITY] = {"flop/B", true, 5},
	[MOVED] = {"memory", true, 4},
	[RATE] = {"GB/s", true, 3},
	[POINT] = {"speed", true, 7},
	[BOUND] = {"bound", false, 6},
	[ROOF] = {"roof", true, 1},
	[OF_ROOF] = {"of roof", true, 12},
	[HELD_BY] = {"held back by", false, 13},
	[HEADROOM] = {"could save", true, 9},
};

struct layout {
	const struct report_view *view;
	char **names;   /* of the rows that are shown */
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

static const char *put_rate(char *cell, enum model_axis axis, double value, const char *mark)
{
	static const char *const units[] = {
		[AXIS_NONE] = "",
		[AXIS_FLOP] = " GFLOP/s",
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

/* The column's title has the sign. */
static const char *put_percent(char *cell, double share)
{
	snprintf(cell, 64, "%.0f", 100 * share);
	return share > 0 && share < 0.005 ? "<1" : cell;
}

static void put_place(struct layout *layout, const struct model_function *f)
{
	const struct model_place *place = &f->place;
	struct text_table *table = &layout->table;
	char cell[64];
	text_table_text(table, POINT, put_rate(cell, place->axis, place->point, ""));
	text_table_put(table, BOUND, report_bound_style(place), "%s", put_bound(cell, place));
	text_table_text(table, ROOF,
			put_rate(cell, place->axis, place->roof, place->borrowed ? "*" : ""));
	text_table_put(table, OF_ROOF, place->above ? STYLE_FAULT : STYLE_PLAIN, "%s",
		       report_put_of_roof(cell, place->at_most ? "≥" : "",
					  place->at_most && place->distance >= 9999.5
						  ? NAN
						  : place->distance));
	text_table_put(table, HEADROOM, STYLE_HEAD, "%s",
		       report_put_time(cell, place->headroom_s, layout->longest));
}

static struct rf_error *put_held_by(struct layout *layout, const struct model_function *f)
{
	struct reasons reasons;
	struct rf_error *error = report_reasons(layout->view, f, &reasons);
	const char *name = error ? NULL : report_held_by(f, &reasons);
	text_table_put(&layout->table, HELD_BY, report_bound_style(&f->place), "%s",
		       name ? name : "–");
	reasons_deinit(&reasons);
	return error;
}

static struct rf_error *put_function(struct layout *layout, const struct model_function *f,
				     size_t rank)
{
	struct text_table *table = &layout->table;
	const char *mark = f->n_samples && f->n_samples < MODEL_FEW_SAMPLES ? "≈" : "";
	char cell[64];
	const char key = report_plot_key(rank);
	text_table_row(table);
	text_table_put(table, RANK, STYLE_DIM, "%zu", rank + 1);
	text_table_put(table, KEY, STYLE_HEAD, "%.1s", &key);
	text_table_put(table, TIME, STYLE_PLAIN, "%s%s", mark,
		       report_put_time(cell, f->n_samples ? (double)f->time_ns * 1e-9 : NAN,
				       layout->longest));
	if (f->n_samples)
		text_table_put(table, SPREAD, STYLE_PLAIN, "%.1f %%",
			       fmin(999, 100 * f->halfwidth_s / ((double)f->time_ns * 1e-9)));
	text_table_text(table, PERCENT, put_percent(cell, f->share));
	text_table_text(table, NAME, layout->names[rank]);
	text_table_text(table, INTENSITY, put_intensity(cell, layout->view, f));
	put_moved(layout, f);
	put_place(layout, f);
	return put_held_by(layout, f);
}

/* A last row that sums up: uncounted time, or what is not shown. */
static void put_sum(struct layout *layout, double time_ns, const char *name)
{
	const double all = (double)layout->view->model->time_ns;
	struct text_table *table = &layout->table;
	char cell[64];
	text_table_row(table);
	text_table_put(table, TIME, STYLE_DIM, "%s",
		       report_put_time(cell, time_ns * 1e-9, layout->longest));
	text_table_put(table, PERCENT, STYLE_DIM, "%s",
		       put_percent(cell, all > 0 ? time_ns / all : 0));
	text_table_put(table, NAME, STYLE_DIM, "%s", name);
}

static const char *row_word(const struct report_view *view)
{
	static const char *const words[] = {
		[BY_FUNCTION] = "function",   [BY_LOOP] = "loop",        [BY_LINE] = "line",
		[BY_GROUP] = "function",      [BY_WAIT] = "function",    [BY_MODULE] = "module",
		[BY_KERNEL] = "kernel",       [BY_THREAD] = "thread",    [BY_PROCESS] = "process",
		[BY_CALL_PATH] = "call path", [BY_INLINED] = "function", [BY_PYTHON] = "function",
	};
	return words[view->shaped ? view->options->by : BY_FUNCTION];
}

/* Sums up the rows with time that are not shown: behind the last rank, below --min, left out. */
static void put_sums(struct layout *layout)
{
	const struct report_view *view = layout->view;
	double time[3] = {0};
	size_t n[3] = {0};
	char name[96];
	bool start_up = false;
	for (size_t i = view->n_shown; i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const int which = report_is_small(view, f);
		time[which] += (double)f->time_ns;
		n[which] += f->time_ns > 0;
		start_up |= f->time_ns > 0 && !which && report_is_linker(view, f);
	}
	for (size_t i = 0; i < view->model->n_functions; i++)
		if (view->model->functions[i].left_out) {
			time[2] += (double)view->model->functions[i].time_ns;
			n[2] += view->model->functions[i].time_ns > 0;
		}
	if (n[0]) {
		snprintf(name, sizeof(name), "%zu more%s", n[0], start_up ? ", start-up" : "");
		put_sum(layout, time[0], name);
	}
	if (n[1]) {
		snprintf(name, sizeof(name), "%zu below %g %%", n[1],
			 100 * view->options->min_share);
		put_sum(layout, time[1], name);
	}
	if (n[2]) /* by --focus or --ignore */
		put_sum(layout, time[2], "left out");
	if (view->shaped && (n[0] || n[1] || n[2]))
		put_sum(layout, (double)view->model->time_ns, "all");
	if (view->model->uncounted_ns)
		put_sum(layout, (double)view->model->uncounted_ns, "not counted");
}

static size_t sort_column(const struct report_view *view)
{
	static const size_t of[] = {
		[SORT_HEADROOM] = HEADROOM, [SORT_DISTANCE] = OF_ROOF, [SORT_TIME] = TIME,
		[SORT_FLOPS] = POINT,       [SORT_BYTES] = MOVED,      [SORT_NAME] = NAME,
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
	layout->columns[NAME].title = row_word(view);
	table->hidden[SPREAD] = !view->model->runs.n;
	if (view->options->level)
		layout->columns[MOVED].title = view->options->level;
	layout->columns[sort_column(view)].spared = 0;
	table->hidden[KEY] = !view->options->plot || view->n_shown < 10; /* it is the rank */
	const bool wide = view->options->verbose || view->options->levels || view->options->level;
	const bool moved = wide || view->sort == SORT_BYTES;
	table->hidden[MOVED] = table->hidden[RATE] =
		!moved || view->model->memory == MEMORY_UNKNOWN || paths;
	table->hidden[INTENSITY] = !moved || paths; /* work is not counted by path */
	table->hidden[BOUND] = table->hidden[ROOF] = !wide;
}

/* The rows, and what is left of time. */
static struct rf_error *put_rows(struct layout *layout)
{
	const struct report_view *view = layout->view;
	struct rf_error *error = NULL;
	layout->names = short_names(view);
	if (!layout->names)
		return rf_error_no_memory();
	for (size_t i = 0; !error && i < view->n_shown; i++)
		error = put_function(layout, &view->model->functions[view->rank[i]], i);
	put_sums(layout);
	short_names_destroy(layout->names, view->n_shown);
	return error;
}

struct rf_error *report_functions(const struct report_view *view, FILE *stream)
{
	struct layout layout = {.view = view, .longest = longest_time(view)};
	struct text_table *table = &layout.table;
	char words[192];
	*table = TEXT_TABLE(view->terminal, layout.columns, NAME, least_name(view), .flush = true);
	choose_columns(&layout);
	struct rf_error *error = put_rows(&layout);
	if (error) {
		text_table_deinit(table);
		return error;
	}
	if (!table->n_rows && !table->failed) {
		fputs("  no function took any time or did any work\n", stream);
		return NULL;
	}
	error = text_table_end(table, stream);
	snprintf(words, sizeof(words), "narrow: without %s", table->left_out);
	return error || !table->left_out[0]
		       ? error
		       : terminal_sentence(view->terminal, stream, STYLE_DIM, "· ", words);
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
	const char *slash = program ? strrchr(program, '/') : NULL;
	char *shown = program ? text_shorten(slash && slash[1] ? slash + 1 : program, 40) : NULL;
	const int threads = (int)profile_number_fact(view->profile, "threads", 0);
	size_t size;
	FILE *text = shown ? open_memstream(&line, &size) : NULL;
	if (text) {
		fputs(shown, text);
		if (threads > 0)
			fprintf(text, " · %d thread%s", threads, threads == 1 ? "" : "s");
		report_put_account(view, text);
		if (view->options->verbose || view->options->levels)
			print_roofs(view, text);
	}
	const bool made = text && fclose(text) == 0;
	struct rf_error *error =
		made ? terminal_sentence(view->terminal, stream, STYLE_HEAD, "", line)
		     : rf_error_no_memory();
	free(line);
	free(program);
	free(shown);
	return error;
}
