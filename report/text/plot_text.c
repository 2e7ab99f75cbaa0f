/* The roofline in characters: braille dots (2 × 4 in each cell), or ASCII.
 *
 * Both axes are logarithmic over whole decades.  Value v stands in cell ⌊(log v − log min) / (log
 * max − log min) · n⌋ of n cells; rows are counted from below.  A point's key takes its whole cell;
 * of several in one cell the best ranked is drawn, the others are named below the plot. */
#include "report/text/plot_text.h"

#include "base/text.h"
#include "report/model/model_bandwidths.h"
#include "report/text/cells.h"
#include "report/text/terminal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 9 /* columns of the y axis */
#define MOST_COLUMNS 110
#define MAX_ROWS 24
#define LEAST_ROWS 12
#define MAX_POINTS 61 /* keys */

struct point {
	const struct model_function *function;
	char key;
	size_t column, row;
	bool drawn, infinite;
};

struct cell {
	uint8_t dots;
	char mark;
	enum style style;
};

/* From whole decades to cells. */
struct scale {
	double low, high;
	size_t n;
};

struct plot {
	const struct report_view *view;
	const char *level; /* whose moved bytes x counts; NULL: those that are loaded and stored */
	const char *precision;
	int threads;        /* of the roofs */
	struct scale x, y;  /* columns and rows */
	struct cell *cells; /* from the top left */
	struct point points[MAX_POINTS];
	size_t n_points;
};

/* ---- scales ---- */

static void widen(struct scale *scale, double value)
{
	if (!(value > 1e-9) || !(value < 1e9))
		return;
	scale->low = fmin(scale->low, value);
	scale->high = fmax(scale->high, value);
}

static void snap(struct scale *scale)
{
	scale->low = pow(10, floor(log10(scale->low)));
	scale->high = pow(10, ceil(log10(scale->high * 1.01)));
}

/* The cell in which a value stands; at the edge where it lies beyond. */
static size_t cell_of(const struct scale *scale, double value)
{
	const double share =
		(log10(value) - log10(scale->low)) / (log10(scale->high) - log10(scale->low));
	const double at = floor(share * (double)scale->n);
	return !(at > 0) ? 0 : at >= (double)scale->n ? scale->n - 1 : (size_t)at;
}

/* In the middle of a cell. */
static double value_at(const struct scale *scale, size_t cell)
{
	return scale->low * pow(scale->high / scale->low, ((double)cell + 0.5) / (double)scale->n);
}

/* The label where a decade's lower edge is in a cell; else "". */
static const char *decade_in(char text[static 16], const struct scale *scale, size_t cell)
{
	const int first = (int)lround(log10(scale->low)), last = (int)lround(log10(scale->high));
	*text = '\0';
	for (int k = first; k < last; k++) {
		const double value = pow(10, k);
		if (cell_of(scale, value * 1.000001) == cell)
			snprintf(text, 16, value >= 0.0009 && value < 2e5 ? "%.10g" : "%.0e",
				 value);
	}
	return text;
}

/* The lines' mix of reads and writes: where points stand by what moved at a level, the one that no
 * point's own is above; by LS bytes it is reading. */
static enum traffic_direction mix_of(const struct plot *plot)
{
	return plot->level ? plot->view->options->direction : DIRECTION_READ;
}

static double slope_of(const struct plot *plot, enum roof_level level)
{
	return model_level_most(plot->view->profile, level, plot->threads, mix_of(plot));
}

/* What reading alone reaches at the level of the plot, where that is another line; else 0. */
static double reading_of(const struct plot *plot, enum roof_level level)
{
	const double read =
		model_level_most(plot->view->profile, level, plot->threads, DIRECTION_READ);
	return mix_of(plot) == DIRECTION_BOTH && read < slope_of(plot, level) ? read : 0;
}

static size_t slopes_of(const struct plot *plot, enum roof_level levels[MODEL_LEVELS])
{
	const size_t n = model_levels(plot->view->profile, levels);
	for (size_t i = 0; plot->level && i < n; i++)
		if (levels[i] == roof_level_find(plot->level)) {
			levels[0] = levels[i];
			return 1;
		}
	return n;
}

static void find_points(struct plot *plot)
{
	const struct report_view *view = plot->view;
	for (size_t i = 0; i < view->n_shown && i < MAX_POINTS; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (f->place.axis != AXIS_FLOP || !(f->place.point > 0))
			continue;
		plot->points[plot->n_points++] = (struct point){
			.function = f,
			.key = report_plot_key(i),
			.infinite = !(report_intensity_at(f, plot->level) <= MODEL_IN_CACHE)};
	}
}

static double peak_of(const struct plot *plot)
{
	return model_peak(plot->view->profile, roof_precision_find(plot->precision), plot->threads);
}

static void set_scales(struct plot *plot)
{
	enum roof_level levels[MODEL_LEVELS];
	const double peak = peak_of(plot);
	const size_t n = slopes_of(plot, levels);
	plot->x = (struct scale){.low = 0.1, .high = 9, .n = plot->x.n};
	plot->y = (struct scale){.low = INFINITY, .high = 0, .n = plot->y.n};
	for (size_t i = 0; i < n && peak > 0; i++)
		widen(&plot->x, peak / slope_of(plot, levels[i]));
	widen(&plot->y, peak);
	widen(&plot->y, peak / 50);
	for (size_t i = 0; i < plot->n_points; i++) {
		if (!plot->points[i].infinite)
			widen(&plot->x, report_intensity_at(plot->points[i].function, plot->level));
		widen(&plot->y, plot->points[i].function->place.point);
	}
	if (!(plot->y.high > 0))
		plot->y.low = 0.1, plot->y.high = 100;
	snap(&plot->x);
	snap(&plot->y);
}

/* ---- lines ---- */

static struct cell *cell_at(const struct plot *plot, size_t column, size_t row)
{
	return &plot->cells[(plot->y.n - 1 - row) * plot->x.n + column];
}

/* A dot; x and y counted from the lower left, 2 and 4 in a cell. */
static void set_dot(struct plot *plot, size_t x, size_t y, char mark)
{
	static const uint8_t bits[4][2] = {{0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
	struct cell *cell = cell_at(plot, x / 2, y / 4);
	cell->dots |= bits[y % 4][x % 2];
	cell->mark = cell->mark == '/' ? '/' : mark;
}

/* min(top, slope · x) as far as it is inside; dashed: every other pair of dots. */
static void draw_line(struct plot *plot, double slope, double top, bool dashed)
{
	const struct scale across = {plot->x.low, plot->x.high, 2 * plot->x.n},
			   upward = {plot->y.low, plot->y.high, 4 * plot->y.n};
	size_t before = SIZE_MAX;
	for (size_t x = 0; x < across.n; x++) {
		const double value = slope > 0 ? slope * value_at(&across, x) : top;
		if (slope > 0 && top > 0 && value > top)
			return;
		if (value < upward.low || value >= upward.high || (dashed && x / 2 % 2))
			continue;
		const size_t y = cell_of(&upward, value);
		for (size_t fill = slope > 0 && before < y ? before + 1 : y; fill <= y; fill++)
			set_dot(plot, x, fill, slope > 0 ? '/' : dashed ? '.' : '-');
		before = y;
	}
}

static void write_mark(struct plot *plot, size_t column, size_t row, const char *text)
{
	for (; *text && column < plot->x.n; text++, column++)
		*cell_at(plot, column, row) = (struct cell){.mark = *text, .style = STYLE_DIM};
}

/* The level's name where its line comes in, each a little further right. */
static void name_slope(struct plot *plot, double slope, size_t i, const char *level)
{
	const double lowest = fmax(plot->x.low, plot->y.low / slope);
	const size_t column = cell_of(&plot->x, lowest) + 2 + 2 * i;
	const double y = slope * value_at(&plot->x, column);
	if (column + 4 < plot->x.n && y < plot->y.high)
		write_mark(plot, column, cell_of(&plot->y, y), level);
}

static double ceiling(const struct plot *plot, enum roof_isa isa, enum roof_op op)
{
	return model_roof(plot->view->profile,
			  roof_compute(isa, roof_precision_find(plot->precision), op),
			  plot->threads);
}

static void name_flat(struct plot *plot, double value, const char *what)
{
	char text[96], number[TEXT_NUMBER];
	if (!(value > plot->y.low) || !(value < plot->y.high))
		return;
	snprintf(text, sizeof(text), "%s %s", text_number(number, value), what);
	if (strlen(text) + 4 < plot->x.n)
		write_mark(plot, plot->x.n - strlen(text), cell_of(&plot->y, value), text);
}

static void draw_roofs(struct plot *plot)
{
	enum roof_level levels[MODEL_LEVELS];
	const double peak = peak_of(plot), plain = ceiling(plot, ROOF_ISA_ANY, ROOF_OP_ADD),
		     scalar = ceiling(plot, ROOF_ISA_SCALAR, ROOF_OP_FMA);
	const size_t n = slopes_of(plot, levels);
	for (size_t i = 0; i < n; i++) {
		draw_line(plot, reading_of(plot, levels[i]), peak, true);
		draw_line(plot, slope_of(plot, levels[i]), peak, false);
	}
	draw_line(plot, 0, plain < peak ? plain : 0, true);
	draw_line(plot, 0, scalar < peak ? scalar : 0, true);
	draw_line(plot, 0, peak, false);
	for (size_t i = 0; i < n; i++)
		if (slope_of(plot, levels[i]) > 0)
			name_slope(plot, slope_of(plot, levels[i]), i, roof_level_name(levels[i]));
	if (scalar < peak)
		name_flat(plot, scalar, "scalar");
	if (plain < peak)
		name_flat(plot, plain, "no FMA");
	name_flat(plot, peak, report_precision_short(plot->precision));
}

static bool has_point(const struct plot *plot, size_t column, size_t row)
{
	for (size_t i = 0; i < plot->n_points; i++)
		if (plot->points[i].column == column && plot->points[i].row == row)
			return true;
	return false;
}

/* Behind the key of a point above its roof; at the right edge before it. */
static void flag_points(struct plot *plot)
{
	for (size_t i = 0; i < plot->n_points; i++) {
		const struct point *point = &plot->points[i];
		const size_t column =
			point->column + 1 < plot->x.n ? point->column + 1 : point->column - 1;
		if (point->function->place.above && !has_point(plot, column, point->row))
			*cell_at(plot, column, point->row) =
				(struct cell){.mark = '!', .style = STYLE_FAULT};
	}
}

static void draw_points(struct plot *plot)
{
	for (size_t i = plot->n_points; i-- > 0;) {
		struct point *point = &plot->points[i];
		const double x = report_intensity_at(point->function, plot->level);
		point->column = point->infinite ? plot->x.n - 1 : cell_of(&plot->x, x);
		point->row = cell_of(&plot->y, point->function->place.point);
		*cell_at(plot, point->column, point->row) =
			(struct cell){.mark = point->key,
				      .style = report_bound_style(&point->function->place)};
	}
	for (size_t i = 0; i < plot->n_points; i++)
		plot->points[i].drawn =
			cell_at(plot, plot->points[i].column, plot->points[i].row)->mark ==
			plot->points[i].key;
}

/* ---- text ---- */

static void put_cell(const struct plot *plot, const struct cell *cell, FILE *stream)
{
	const struct terminal *terminal = plot->view->terminal;
	const bool braille = cell->dots && !terminal->plot_ascii;
	const char dots[] = {(char)0xe2, (char)(0xa0 | cell->dots >> 6),
			     (char)(0x80 | (cell->dots & 0x3f)), '\0'};
	const char mark[] = {cell->mark ? cell->mark : ' ', '\0'};
	fprintf(stream, "%s%s%s", terminal_begin(terminal, cell->style), braille ? dots : mark,
		terminal_end(terminal, cell->style));
}

static bool is_blank(const struct cell *cell)
{
	return !cell->dots && (!cell->mark || cell->mark == ' ');
}

static void put_row(const struct plot *plot, size_t row, FILE *stream)
{
	const bool ascii = plot->view->terminal->plot_ascii;
	char label[16];
	size_t end = plot->x.n;
	decade_in(label, &plot->y, row);
	while (end && is_blank(cell_at(plot, end - 1, row)))
		end--;
	fprintf(stream, "%*s %s", MARGIN - 2, label, ascii ? "|" : label[0] ? "┤" : "│");
	for (size_t column = 0; column < end; column++)
		put_cell(plot, cell_at(plot, column, row), stream);
	putc('\n', stream);
}

static void put_x_axis(const struct plot *plot, FILE *stream)
{
	const bool ascii = plot->view->terminal->plot_ascii;
	char labels[MOST_COLUMNS + 1] = "", text[16];
	size_t end = 0;
	fprintf(stream, "%*s%s", MARGIN - 1, "", ascii ? "+" : "└");
	for (size_t column = 0; column < plot->x.n; column++) {
		const bool here = *decade_in(text, &plot->x, column);
		fputs(ascii ? here ? "+" : "-" : here ? "┬" : "─", stream);
		if (here && (!end || column > end) && column + strlen(text) <= plot->x.n)
			end += (size_t)sprintf(labels + end, "%*s%s", (int)(column - end), "",
					       text);
	}
	fprintf(stream, "\n%*s%s\n", MARGIN, "", labels);
}

static bool is_hidden(const struct point *point)
{
	return !point->drawn;
}
static bool is_infinite(const struct point *point)
{
	return point->infinite;
}
static bool is_above(const struct point *point)
{
	return point->function->place.above;
}

/* Behind a title the keys of the points that are so; nothing without any. */
static void put_keys(const struct plot *plot, const char *title,
		     bool (*is_so)(const struct point *point), FILE *text)
{
	for (size_t i = 0; i < plot->n_points; i++)
		if (is_so(&plot->points[i])) {
			fprintf(text, "%s %c", title, plot->points[i].key);
			title = "";
		}
}

/* Says which keys are hidden below others, stand at the edge, are above their roofs, or are not in
 * the plot at all. */
static struct rf_error *put_rest(const struct plot *plot, FILE *stream)
{
	const struct report_view *view = plot->view;
	const char *title = "; no flop:";
	char *line = NULL;
	size_t size;
	FILE *text = open_memstream(&line, &size);
	if (!text)
		return rf_error_no_memory();
	put_keys(plot, "; above its roof (!):", is_above, text);
	put_keys(plot, "; under another:", is_hidden, text);
	put_keys(plot, "; at the right edge, for (almost) no bytes:", is_infinite, text);
	for (size_t i = 0; i < view->n_shown && i < MAX_POINTS; i++)
		if (view->model->functions[view->rank[i]].place.axis != AXIS_FLOP) {
			fprintf(text, "%s %c", title, report_plot_key(i));
			title = "";
		}
	struct rf_error *error = fclose(text) == 0 ? NULL : rf_error_no_memory();
	if (!error && *line)
		error = terminal_sentence(view->terminal, stream, STYLE_DIM, "  · ", line + 2);
	free(line);
	return error;
}

/* What the axis and the lines are. */
static struct rf_error *put_lines(const struct plot *plot, FILE *stream)
{
	enum roof_level levels[MODEL_LEVELS];
	char text[512], number[TEXT_NUMBER], what[96];
	const size_t n = slopes_of(plot, levels);
	if (plot->level && strcmp(plot->level, "L1") != 0)
		snprintf(what, sizeof(what), "flop per byte moved to or from %s",
			 strcmp(plot->level, "DRAM") == 0 ? "memory" : plot->level);
	else
		snprintf(what, sizeof(what), "flop per byte loaded or stored");
	int used = snprintf(text, sizeof(text), "across: %s; roofs of %d thread%s: %s", what,
			    plot->threads, plot->threads == 1 ? "" : "s",
			    report_mix_words(mix_of(plot)));
	for (size_t i = n; i-- > 0;)
		used += snprintf(text + used, sizeof(text) - (size_t)used, " %s %s",
				 roof_level_name(levels[i]),
				 text_number(number, slope_of(plot, levels[i])));
	for (size_t i = n; i-- > 0;)
		if (reading_of(plot, levels[i]) > 0)
			used += snprintf(text + used, sizeof(text) - (size_t)used,
					 ", reading %s %s", roof_level_name(levels[i]),
					 text_number(number, reading_of(plot, levels[i])));
	snprintf(text + used, sizeof(text) - (size_t)used, " GB/s; numbers and letters: the rows");
	return terminal_sentence(plot->view->terminal, stream, STYLE_DIM, "  · ", text);
}

static struct rf_error *print_plot(const struct plot *plot, FILE *stream)
{
	fputs("  GFLOP/s\n", stream);
	for (size_t row = plot->y.n; row-- > 0;)
		put_row(plot, row, stream);
	put_x_axis(plot, stream);
	struct rf_error *error = put_lines(plot, stream);
	return error ? error : put_rest(plot, stream);
}

struct rf_error *report_plot(const struct report_view *view, FILE *stream)
{
	struct plot plot = {
		.view = view,
		.level = report_picture_level(view),
		.precision = report_main_precision(view->model),
		.threads = report_roof_threads(view),
	};
	const size_t room = view->terminal->columns - MARGIN - 1;
	plot.x.n = room > MOST_COLUMNS ? MOST_COLUMNS : room;
	plot.y.n = plot.x.n / 4 > MAX_ROWS     ? MAX_ROWS
		   : plot.x.n / 4 < LEAST_ROWS ? LEAST_ROWS
					       : plot.x.n / 4;
	plot.cells = calloc(plot.x.n * plot.y.n, sizeof(*plot.cells));
	if (!plot.cells)
		return rf_error_no_memory();
	find_points(&plot);
	set_scales(&plot);
	draw_roofs(&plot);
	draw_points(&plot);
	flag_points(&plot);
	struct rf_error *error = print_plot(&plot, stream);
	free(plot.cells);
	return error;
}
