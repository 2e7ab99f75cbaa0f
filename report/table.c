/* The head line, the ranked table and the notes, for a terminal. */
#include "report/report_parts.h"

#include "report/text.h"

#include <libsmartcols.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_COLUMNS 132 /* where the table does not go to a terminal */
#define MIN_NAME 16

enum { TIME, PERCENT, NAME, POINT, INTENSITY, MOVED, RATE, BOUND, ROOF, BELOW, HEADROOM, N_COLUMNS };

static const struct { const char *title; int flags; } columns[N_COLUMNS] = {
	[TIME] = {"time", SCOLS_FL_RIGHT}, [PERCENT] = {"%", SCOLS_FL_RIGHT},
	[NAME] = {"function", 0}, [POINT] = {"GFLOP/s", SCOLS_FL_RIGHT},
	[INTENSITY] = {"flop/B", SCOLS_FL_RIGHT}, [MOVED] = {"memory", SCOLS_FL_RIGHT},
	[RATE] = {"GB/s", SCOLS_FL_RIGHT}, [BOUND] = {"bound", 0},
	[ROOF] = {"roof", SCOLS_FL_RIGHT}, [BELOW] = {"below", SCOLS_FL_RIGHT},
	[HEADROOM] = {"headroom", SCOLS_FL_RIGHT},
};

struct cells { char text[N_COLUMNS][64]; char *name; };

/* One unit of time for the whole table, so that its columns can be read downward. */
struct time_unit { const char *name; double seconds; };

struct layout {
	const struct report_view *view;
	struct time_unit unit;
	bool shown[N_COLUMNS];
};

/* What a narrow terminal does without, the first first; only where traffic has added columns. */
static const int spared[] = {ROOF, PERCENT, RATE, MOVED};

static double longest_time(const struct report_view *view)
{
	double longest = 0;
	for (size_t i = 0; i < view->n_shown; i++)
		longest = fmax(longest, (double)view->model->functions[view->rank[i]].time_ns * 1e-9);
	return longest;
}

static struct time_unit choose_unit(double longest)
{
	if (longest >= 1 || longest == 0)
		return (struct time_unit){"s", 1};
	return longest >= 1e-3 ? (struct time_unit){"ms", 1e-3} : (struct time_unit){"µs", 1e-6};
}

/* Three digits, but no more than three decimals: finer is finer than the clock. */
static const char *time_number(char number[static TEXT_NUMBER], double value)
{
	if (value == 0)
		snprintf(number, TEXT_NUMBER, "0");
	else if (value < 0.0995)
		snprintf(number, TEXT_NUMBER, "%.3f", value);
	else
		text_number(number, value);
	return number;
}

static void put_time(char *cell, const struct time_unit *unit, double seconds, const char *mark)
{
	char number[TEXT_NUMBER];
	if (isnan(seconds))
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, "%s%s %s", mark, time_number(number, seconds / unit->seconds),
			 unit->name);
}

void report_put_time(char *cell, double seconds, double longest)
{
	const struct time_unit unit = choose_unit(longest);
	put_time(cell, &unit, seconds, "");
}

void report_put_share(char *cell, double share)
{
	snprintf(cell, 64, share >= 0.0995 || share == 0 ? "%.0f %%" : "%.1f %%", 100 * share);
}

static void put_below(char *cell, const struct model_place *place)
{
	if (isnan(place->distance))
		snprintf(cell, 64, "–");
	else if (place->distance >= 9999.5)
		snprintf(cell, 64, ">9999×");
	else /* inside the tolerance the point is on its roof */
		snprintf(cell, 64, place->distance < 9.95 ? "%.1f×" : "%.0f×",
			 place->above ? place->distance : fmax(1, place->distance));
}

static void put_rate(char *cell, enum model_axis axis, double value, const char *mark)
{
	static const char *const units[] = {
		[AXIS_NONE] = "", [AXIS_FLOP] = "", [AXIS_BYTES] = " GB/s",
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
		snprintf(cell, 64, "%s%s%s", model_bound_name(place->bound),
			 !place->level[0] ? "" : place->traced ? " " : " ~", place->level);
	if (place->traced && place->bound == BOUND_COMPUTE) /* its own mix is the lower ceiling */
		snprintf(cell, 64, "%s", model_bound_name(place->bound));
}

/* Where the bytes are less than sure, the intensity has only a lower end. */
static void put_intensity(char *cell, const struct report_view *view, const struct model_function *f)
{
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const double least = moved ? (double)f->tally.flop / (moved->bytes + moved->halfwidth) : 0;
	char number[TEXT_NUMBER];
	if (!f->tally.flop)
		snprintf(cell, 64, "–");
	else if (moved && moved->bytes > 0 && moved->halfwidth >= moved->bytes && least < MODEL_IN_CACHE)
		snprintf(cell, 64, ">%s", text_number(number, least));
	else if (moved)
		report_put_intensity(cell, report_intensity(view, f));
	else
		snprintf(cell, 64, "%s", text_number(number, f->intensity));
}

static void put_moved(struct cells *cells, const struct report_view *view, const struct model_function *f)
{
	const struct model_level *level = report_level(view, f);
	const struct model_estimate *moved = level ? report_moved(view, level) : NULL;
	const bool unsure = moved && !(moved->halfwidth <= REPORT_SURE * moved->bytes);
	char number[TEXT_NUMBER], bytes[64];
	report_put_bytes(bytes, moved ? moved->bytes : NAN);
	snprintf(cells->text[MOVED], 64, "%s%.56s", unsure ? "≈" : "", bytes);
	snprintf(cells->text[RATE], 64, "%s", text_number(number, level ? level->rate : NAN));
}

static void function_cells(const struct layout *layout, const struct model_function *f,
			   struct cells *cells)
{
	const struct model_place *place = &f->place;
	const char *mark = f->n_samples < MODEL_FEW_SAMPLES ? "≈" : "";
	put_time(cells->text[TIME], &layout->unit, f->n_samples ? (double)f->time_ns * 1e-9 : NAN, mark);
	report_put_share(cells->text[PERCENT], f->share);
	put_rate(cells->text[POINT], place->axis, place->point, "");
	put_intensity(cells->text[INTENSITY], layout->view, f);
	put_moved(cells, layout->view, f);
	put_bound(cells->text[BOUND], place);
	put_rate(cells->text[ROOF], place->axis, place->roof, place->borrowed ? "*" : "");
	put_below(cells->text[BELOW], place);
	put_time(cells->text[HEADROOM], &layout->unit, place->headroom_s, "");
	cells->name = text_clean(f->name);
}

/* A last row that sums up: uncounted time, or what is not shown. */
static void sum_cells(const struct layout *layout, const char *name, double time_ns,
		      struct cells *cells)
{
	double all = (double)layout->view->model->time_ns;
	put_time(cells->text[TIME], &layout->unit, time_ns * 1e-9, "");
	report_put_share(cells->text[PERCENT], all > 0 ? time_ns / all : 0);
	cells->name = strdup(name);
}

static size_t add_sums(const struct layout *layout, struct cells *cells)
{
	const struct report_view *view = layout->view;
	double hidden_ns = 0;
	size_t hidden = 0, n = 0;
	for (size_t i = view->n_shown; i < view->n_rank; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		hidden_ns += (double)f->time_ns;
		hidden += f->time_ns > 0;
	}
	if (hidden) {
		char name[64];
		snprintf(name, sizeof(name), "(%zu more function%s)", hidden, hidden == 1 ? "" : "s");
		sum_cells(layout, name, hidden_ns, &cells[n++]);
	}
	if (view->model->uncounted_ns) {
		sum_cells(layout, "(all that was not counted)", (double)view->model->uncounted_ns, &cells[n]);
		strcpy(cells[n++].text[BOUND], "uncounted");
	}
	return n;
}

static size_t fill_cells(const struct layout *layout, struct cells *cells)
{
	const struct report_view *view = layout->view;
	for (size_t i = 0; i < view->n_shown; i++)
		function_cells(layout, &view->model->functions[view->rank[i]], &cells[i]);
	return view->n_shown + add_sums(layout, cells + view->n_shown);
}

static size_t terminal_columns(FILE *stream)
{
	struct winsize size;
	int fd = fileno(stream);
	if (fd >= 0 && isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return DEFAULT_COLUMNS;
}

static const char *column_title(const struct layout *layout, int column)
{
	const char *level = layout->view->options ? layout->view->options->level : NULL;
	return column == MOVED && level ? level : columns[column].title;
}

/* Columns of the terminal that all but the names take. */
static size_t used_columns(const struct layout *layout, const struct cells *cells, size_t n)
{
	size_t used = 0;
	for (int c = 0; c < N_COLUMNS; c++) {
		size_t widest = c == NAME ? 0 : text_columns(column_title(layout, c));
		for (size_t i = 0; c != NAME && i < n; i++) {
			size_t own = text_columns(cells[i].text[c]);
			widest = own > widest ? own : widest;
		}
		used += layout->shown[c] ? widest + 2 : 0;
	}
	return used;
}

static void choose_columns(struct layout *layout, const struct cells *cells, size_t n, size_t width)
{
	const bool traced = layout->view->model->traced;
	for (int c = 0; c < N_COLUMNS; c++)
		layout->shown[c] = traced || (c != MOVED && c != RATE);
	for (size_t i = 0; traced && i < sizeof(spared) / sizeof(*spared) &&
			   used_columns(layout, cells, n) + MIN_NAME > width; i++)
		layout->shown[spared[i]] = false;
}

/* Cuts the names to what the other columns leave. */
static bool fit_names(const struct layout *layout, struct cells *cells, size_t n, size_t width)
{
	const size_t used = used_columns(layout, cells, n);
	size_t room = width > used + MIN_NAME ? width - used : MIN_NAME;
	for (size_t i = 0; i < n; i++) {
		char *cut = cells[i].name ? text_shorten(cells[i].name, room) : NULL;
		if (!cut)
			return false;
		free(cells[i].name);
		cells[i].name = cut;
	}
	return true;
}

static bool fill_table(const struct layout *layout, struct libscols_table *table, const struct cells *cells,
		       size_t n)
{
	for (int c = 0; c < N_COLUMNS; c++)
		if (layout->shown[c] &&
		    !scols_table_new_column(table, column_title(layout, c), 0, columns[c].flags))
			return false;
	for (size_t i = 0; i < n; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		size_t at = 0;
		for (int c = 0; c < N_COLUMNS; c++) {
			const char *text = c == NAME ? cells[i].name : cells[i].text[c];
			if (layout->shown[c] && (!line || scols_line_set_data(line, at++, text) != 0))
				return false;
		}
	}
	return true;
}

/* libsmartcols pads the last column and knows no indent: line by line. */
static void print_indented(const char *text, FILE *stream)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), kept = length;
		while (kept && text[kept - 1] == ' ')
			kept--;
		fprintf(stream, "  %.*s\n", (int)kept, text);
		text += length + (text[length] == '\n');
	}
}

static bool print_table(const struct layout *layout, const struct cells *cells, size_t n, FILE *stream)
{
	char *text = NULL;
	struct libscols_table *table = scols_new_table();
	bool done = table && fill_table(layout, table, cells, n) &&
		    scols_table_set_column_separator(table, "  ") == 0 &&
		    scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER) == 0 &&
		    scols_print_table_to_string(table, &text) == 0 && text;
	if (done)
		print_indented(text, stream);
	free(text);
	scols_unref_table(table);
	return done;
}

static void print_roofs(const struct report_view *view, FILE *stream)
{
	const char *levels[MODEL_LEVELS], *precision = report_main_precision(view->model);
	const struct roof *peak = model_peak_row(view->profile, precision, 1);
	char number[TEXT_NUMBER];
	if (!peak) {
		precision = "double";
		peak = model_peak_row(view->profile, precision, 1);
	}
	if (!peak)
		return;
	char *op = text_clean(peak->op);
	fprintf(stream, " · roof %s GF/s %s (%s %s, 1 thread)", text_number(number, peak->best),
		report_precision_short(precision), report_isa_name(peak->isa),
		op && strcmp(op, "fma") == 0 ? "FMA" : op ? op : "");
	free(op);
	size_t n = model_levels(view->profile, levels);
	for (size_t i = n; i-- > 0;)
		fprintf(stream, "%s%s %s", i + 1 == n ? ", " : " / ", levels[i],
			text_number(number, machine_roof(view->profile->roofs, view->profile->n_roofs,
							 ROOF_BANDWIDTH, NULL, "", "read", levels[i], 1)));
	if (n)
		fputs(" GB/s", stream);
}

static bool print_head(const struct report_view *view, FILE *stream)
{
	char number[TEXT_NUMBER], *program = report_program(view->profile);
	char *shown = program ? text_shorten(program, 40) : NULL;
	int threads = (int)report_number_fact(view->profile, "threads", 0);
	free(program);
	if (!shown)
		return false;
	fprintf(stream, "rfprof: %s", shown);
	if (threads > 0)
		fprintf(stream, " · %d thread%s", threads, threads == 1 ? "" : "s");
	fprintf(stream, " · %s s", text_number(number, report_number_fact(view->profile, "wall_s", NAN)));
	print_roofs(view, stream);
	putc('\n', stream);
	free(shown);
	return true;
}

static bool print_functions(const struct report_view *view, struct cells *cells, FILE *stream)
{
	struct layout layout = {.view = view, .unit = choose_unit(longest_time(view))};
	size_t n = fill_cells(&layout, cells);
	choose_columns(&layout, cells, n, terminal_columns(stream));
	if (!fit_names(&layout, cells, n, terminal_columns(stream)))
		return false;
	if (n == 0)
		fputs("  no function took any time or did any work\n", stream);
	return n == 0 || print_table(&layout, cells, n, stream);
}

struct rf_error *report_functions(const struct report_view *view, FILE *stream)
{
	size_t n = view->n_shown + 2;
	struct cells *cells = calloc(n, sizeof(*cells));
	bool done = cells && print_functions(view, cells, stream);
	for (size_t i = 0; cells && i < n; i++)
		free(cells[i].name);
	free(cells);
	return done ? NULL : report_no_memory();
}

static struct rf_error *print_all(const struct report_view *view, FILE *stream)
{
	const bool apart = view->options->processes == PROCESSES_TREE && view->model->n_processes > 1;
	bool done = print_head(view, stream);
	struct rf_error *error = done && !apart ? report_functions(view, stream) : NULL;
	if (done && !error && view->options->levels)
		error = report_levels(view, stream);
	if (done && !error)
		error = report_tree(view, stream);
	for (size_t i = 0; done && !error && i < view->n_notes; i++)
		fprintf(stream, "  %s %s\n", "·", view->notes[i]);
	return done ? error : report_no_memory();
}

struct rf_error *report_table(const struct report_view *view, FILE *stream)
{
	/* Widths, and the points of numbers, are the same whatever the user's locale is. */
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct rf_error *error = print_all(view, stream);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return error;
}
