/* The head line, the ranked table and the notes, for a terminal. */
#include "report/text/table.h"

#include "base/text.h"
#include "report/model/model_bandwidths.h"
#include "report/reasons/words.h"
#include "report/rows/ranking.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
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

static const struct text_column default_columns[N_COLUMNS] = {
	[KEY] = {"#", false},         [TIME] = {"time", true},     [PERCENT] = {"%", true},
	[NAME] = {"function", false}, [POINT] = {"GFLOP/s", true}, [INTENSITY] = {"flop/B", true},
	[MOVED] = {"memory", true},   [RATE] = {"GB/s", true},     [BOUND] = {"bound", false},
	[ROOF] = {"roof", true},      [BELOW] = {"below", true},   [HEADROOM] = {"headroom", true},
};

/* What a narrow terminal does without, the first first; never what the table is sorted by. */
static const size_t spared[] = {ROOF,  PERCENT, RATE,  MOVED,   INTENSITY,
				POINT, TIME,    BELOW, HEADROOM};

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

static void put_below(char *cell, const struct model_place *place)
{
	const char *most = place->at_most && !place->above ? "≤" : "";
	if (isnan(place->distance))
		snprintf(cell, 64, "–");
	else if (place->distance >= 9999.5)
		snprintf(cell, 64, most[0] ? "–" : ">9999×");
	else /* inside the tolerance the point is on its roof */
		snprintf(cell, 64, place->distance < 9.95 ? "%s%.1f×" : "%s%.0f×", most,
			 place->above ? place->distance : fmax(1, place->distance));
}

static void put_rate(char *cell, enum model_axis axis, double value, const char *mark)
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
}

static void put_bound(char *cell, const struct model_place *place)
{
	if (place->above)
		snprintf(cell, 64, "above roof!");
	else if (place->bound == BOUND_UNKNOWN)
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, "%s%s%s", report_bound_name(place->bound),
			 !place->level[0] ? ""
			 : place->traced  ? " "
					  : " ~",
			 place->level);
	if (place->traced && place->bound == BOUND_COMPUTE) /* its own mix is the lower ceiling */
		snprintf(cell, 64, "%s", report_bound_name(place->bound));
}

/* Where the interval of the bytes reaches down to 0, only the lower end of the intensity is known.
 */
static void put_intensity(char *cell, const struct report_view *view,
			  const struct model_function *f)
{
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const double least = moved ? (double)f->tally.flop / (moved->bytes + moved->halfwidth) : 0;
	char number[TEXT_NUMBER];
	if (!f->tally.flop)
		snprintf(cell, 64, "–");
	else if (moved &&
		 level->at_least) /* a lower bound of 0 bytes says nothing about the intensity */
		snprintf(cell, 64, isfinite(level->intensity) ? "≤%s" : "–",
			 text_number(number, level->intensity));
	else if (moved && moved->bytes > 0 && moved->halfwidth >= moved->bytes &&
		 least < MODEL_IN_CACHE)
		snprintf(cell, 64, ">%s", text_number(number, least));
	else if (moved)
		report_put_intensity(cell, report_intensity(view, f));
	else
		snprintf(cell, 64, "%s", text_number(number, f->intensity));
}

static void put_moved(struct layout *layout, const struct model_function *f)
{
	const struct report_view *view = layout->view;
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const bool unsure = moved && !(moved->halfwidth <= REPORT_SURE * moved->bytes);
	char number[TEXT_NUMBER], bytes[64];
	report_put_bytes(bytes, moved ? moved->bytes : NAN);
	const bool none = moved && moved->bytes == 0;
	text_table_put(&layout->table, MOVED, STYLE_PLAIN, "%s%s%.56s",
		       level && level->at_least ? "≥" : "",
		       unsure && !(none && level->at_least) ? "≈" : "", bytes);
	text_table_put(&layout->table, RATE, STYLE_PLAIN, "%s",
		       text_number(number, level ? level->rate : NAN));
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
	report_put_time(cell, f->n_samples ? (double)f->time_ns * 1e-9 : NAN, layout->longest);
	text_table_put(table, TIME, STYLE_PLAIN, "%s%s", mark, cell);
	report_put_share(cell, f->share);
	text_table_put(table, PERCENT, STYLE_PLAIN, "%s", cell);
	text_table_put_name(table, NAME, f->name);
	put_rate(cell, place->axis, place->point, "");
	text_table_put(table, POINT, STYLE_PLAIN, "%s", cell);
	put_intensity(cell, layout->view, f);
	text_table_put(table, INTENSITY, STYLE_PLAIN, "%s", cell);
	put_moved(layout, f);
	put_bound(cell, place);
	text_table_put(table, BOUND, report_bound_style(place), "%s", cell);
	put_rate(cell, place->axis, place->roof, place->borrowed ? "*" : "");
	text_table_put(table, ROOF, STYLE_PLAIN, "%s", cell);
	put_below(cell, place);
	text_table_put(table, BELOW, STYLE_PLAIN, "%s", cell);
	report_put_time(cell, place->headroom_s, layout->longest);
	text_table_put(table, HEADROOM, STYLE_HEAD, "%s", cell);
}

/* A last row that sums up: uncounted time, or what is not shown. */
static void put_sum(struct layout *layout, double time_ns, const char *name, const char *bound)
{
	const double all = (double)layout->view->model->time_ns;
	char cell[64];
	text_table_row(&layout->table);
	report_put_time(cell, time_ns * 1e-9, layout->longest);
	text_table_put(&layout->table, TIME, STYLE_DIM, "%s", cell);
	report_put_share(cell, all > 0 ? time_ns / all : 0);
	text_table_put(&layout->table, PERCENT, STYLE_DIM, "%s", cell);
	text_table_put(&layout->table, NAME, STYLE_DIM, "%s", name);
	text_table_put(&layout->table, BOUND, STYLE_DIM, "%s", bound);
}

static const char *row_word(const struct report_view *view, bool many)
{
	static const char *const words[][2] = {
		[BY_FUNCTION] = {"function", "functions"},
		[BY_LOOP] = {"loop", "loops"},
		[BY_LINE] = {"line", "lines"},
		[BY_MODULE] = {"module", "modules"},
		[BY_THREAD] = {"thread", "threads"},
		[BY_PROCESS] = {"process", "processes"},
		[BY_CALL_PATH] = {"call path", "call paths"},
		[BY_INLINED] = {"function", "functions"},
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

/* "narrow: without roof, %": which columns had to go. */
static struct rf_error *fit(struct layout *layout, FILE *stream)
{
	size_t order[sizeof(spared) / sizeof(*spared)], n = 0;
	char words[160] = "narrow: without ";
	for (size_t i = 0; i < sizeof(spared) / sizeof(*spared); i++)
		if (spared[i] != sort_column(layout->view) && !layout->table.hidden[spared[i]])
			order[n++] = spared[i];
	const size_t dropped = text_table_fit(&layout->table, order, n, least_name(layout->view));
	struct rf_error *error = text_table_print(&layout->table, stream);
	for (size_t i = 0; i < dropped; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s%s",
			 i ? ", " : "", layout->columns[order[i]].title);
	if (!error && dropped)
		error = terminal_sentence(layout->table.terminal, stream, STYLE_DIM, "  · ", words);
	return error;
}

static void choose_columns(struct layout *layout)
{
	const struct report_view *view = layout->view;
	const bool paths = view->shaped && view->options->by == BY_CALL_PATH;
	memcpy(layout->columns, default_columns, sizeof(default_columns));
	layout->columns[NAME].title = row_word(view, false);
	if (view->options && view->options->level)
		layout->columns[MOVED].title = view->options->level;
	layout->table.hidden[KEY] = !view->options || !view->options->plot;
	layout->table.hidden[MOVED] = layout->table.hidden[RATE] =
		view->model->memory == MEMORY_UNKNOWN || paths;
	layout->table.hidden[INTENSITY] = paths; /* work is not counted by path */
}

struct rf_error *report_functions(const struct report_view *view, FILE *stream)
{
	const struct terminal own =
		view->terminal ? *view->terminal : terminal_of(stream, view->options);
	struct layout layout = {.view = view, .longest = longest_time(view)};
	text_table_init(&layout.table, &own, layout.columns, N_COLUMNS, NAME);
	choose_columns(&layout);
	for (size_t i = 0; i < view->n_shown; i++)
		put_function(&layout, &view->model->functions[view->rank[i]], i);
	put_sums(&layout);
	struct rf_error *error = NULL;
	if (layout.table.n_rows == 0)
		fputs("  no function took any time or did any work\n", stream);
	else
		error = fit(&layout, stream);
	text_table_deinit(&layout.table);
	return error;
}

static void print_roofs(const struct report_view *view, FILE *stream)
{
	enum roof_level levels[MODEL_LEVELS];
	const char *precision = report_main_precision(view->model);
	const struct roof *peak = model_peak_row(view->profile, roof_precision_find(precision), 1);
	char number[TEXT_NUMBER];
	if (!peak) {
		precision = "double";
		peak = model_peak_row(view->profile, roof_precision_find(precision), 1);
	}
	if (!peak)
		return;
	fprintf(stream, " · roof %s GF/s %s (%s %s, 1 thread)", text_number(number, peak->best),
		report_precision_short(precision), report_isa_name(peak->isa),
		peak->op == ROOF_OP_FMA ? "FMA" : roof_op_name(peak->op));
	size_t n = model_levels(view->profile, levels);
	for (size_t i = n; i-- > 0;)
		fprintf(stream, "%s%s %s", i + 1 == n ? ", " : " / ", roof_level_name(levels[i]),
			text_number(number,
				    model_roof(view->profile,
					       roof_bandwidth(ROOF_OP_READ, levels[i]), 1)));
	if (n)
		fputs(" GB/s", stream);
}

struct rf_error *report_head(const struct report_view *view, FILE *stream)
{
	char number[TEXT_NUMBER], *program = report_program(view->profile), *line = NULL;
	char *shown = program ? text_shorten(program, 40) : NULL;
	const int threads = (int)profile_number_fact(view->profile, "threads", 0);
	size_t size;
	FILE *text = shown ? open_memstream(&line, &size) : NULL;
	if (text) {
		fputs(shown, text);
		if (threads > 0)
			fprintf(text, " · %d thread%s", threads, threads == 1 ? "" : "s");
		fprintf(text, " · %s s",
			text_number(number, profile_number_fact(view->profile, "wall_s", NAN)));
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
