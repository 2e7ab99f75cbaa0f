/* Draws a chart with characters: a letter for each series, lines of what they are compared with. */
#include "report/chart/chart_text.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 10 /* columns left of the plot */
#define LEAST_WIDTH 30
#define MOST_WIDTH 100
#define N_KEYS 52

struct drawing {
	const struct chart *chart;
	const struct terminal *terminal;
	struct chart_scale x, y;
	size_t columns, rows;
	char *cells; /* from the top left */
};

static char key_of(size_t series)
{
	const size_t k = series % N_KEYS;
	return (char)(k < 26 ? 'a' + (int)k : 'A' + (int)k - 26);
}

static size_t cell_of(double share, size_t n)
{
	const double at = floor(share * (double)n);
	return at >= (double)n ? n - 1 : (size_t)at;
}

static char *cell_at(const struct drawing *d, double x, double y)
{
	const size_t column = x == INFINITY ? d->columns - 1
					    : cell_of(chart_share(&d->x, x), d->columns),
		     row = cell_of(chart_share(&d->y, y), d->rows);
	return &d->cells[(d->rows - 1 - row) * d->columns + column];
}

static void put_line(const struct drawing *d, const struct chart_line *line)
{
	double ends[4];
	if (!chart_clip(line, &d->x, &d->y, ends))
		return;
	const double from = chart_share(&d->x, ends[0]), to = chart_share(&d->x, ends[2]);
	const size_t steps = 4 * (d->columns + d->rows);
	for (size_t i = 0; i <= steps; i++) {
		const double part = (double)i / (double)steps;
		const double x = chart_value(&d->x, from + (to - from) * part);
		const double y = line->kind == CHART_SLOPE     ? line->value * x
				 : line->kind == CHART_UPRIGHT ? chart_value(&d->y, part)
							       : line->value;
		char *cell = cell_at(d, x, y);
		if (*cell == ' ' || !line->pale)
			*cell = line->pale                    ? '.'
				: line->kind == CHART_SLOPE   ? '/'
				: line->kind == CHART_UPRIGHT ? '|'
							      : '-';
	}
}

/* Where points of several series are in one cell, a star. */
static void put_points(const struct drawing *d, size_t i)
{
	const struct chart_series *series = &d->chart->series[i];
	for (size_t k = 0; k < series->n; k++) {
		const struct chart_point *point = &series->points[k];
		if (!chart_shows(d->chart, point))
			continue;
		char *cell = cell_at(d, point->x, point->y);
		const bool taken = strchr("*", *cell) || (*cell >= 'a' && *cell <= 'z') ||
				   (*cell >= 'A' && *cell <= 'Z');
		*cell = taken && *cell != key_of(i) ? '*' : key_of(i);
	}
}

static const char *tick_in(const struct chart_scale *scale, size_t cell, size_t n,
			   char text[static TEXT_NUMBER])
{
	struct chart_tick ticks[CHART_TICKS];
	const size_t n_ticks = chart_ticks(scale, ticks);
	for (size_t i = 0; i < n_ticks; i++)
		if (ticks[i].named && cell_of(chart_share(scale, ticks[i].value), n) == cell) {
			snprintf(text, TEXT_NUMBER, "%.6g", ticks[i].value);
			return text;
		}
	return "";
}

static void put_rows(const struct drawing *d, FILE *stream)
{
	char text[TEXT_NUMBER], labels[MOST_WIDTH + TEXT_NUMBER + 1] = "";
	for (size_t row = d->rows; row-- > 0;) {
		const char *cells = &d->cells[(d->rows - 1 - row) * d->columns];
		size_t end = d->columns;
		while (end && cells[end - 1] == ' ')
			end--;
		fprintf(stream, "%*s |%.*s\n", MARGIN - 2, tick_in(&d->y, row, d->rows, text),
			(int)end, cells);
	}
	fprintf(stream, "%*s+", MARGIN - 1, "");
	size_t used = 0;
	for (size_t column = 0; column < d->columns; column++) {
		const char *tick = tick_in(&d->x, column, d->columns, text);
		putc(*tick ? '+' : '-', stream);
		if (*tick && (!used || column > used) && column + strlen(tick) <= d->columns)
			used += (size_t)snprintf(labels + used, sizeof(labels) - used, "%*s%s",
						 (int)(column - used), "", tick);
	}
	fprintf(stream, "\n%*s%s\n", MARGIN, "", labels);
}

/* A text of the chart's, as the terminal shows it. */
static void put_text(const struct drawing *d, const char *lead, const char *of, FILE *stream)
{
	char *clean = text_clean(of), *shown = clean ? terminal_text(d->terminal, clean) : NULL;
	fprintf(stream, "%s%s\n", lead, shown ? shown : "?");
	free(shown);
	free(clean);
}

static void print(const struct drawing *d, FILE *stream)
{
	const struct chart *chart = d->chart;
	double ends[4];
	put_text(d, "\n  ", chart->title, stream);
	put_text(d, "  up: ", chart->y.title, stream);
	put_rows(d, stream);
	put_text(d, "  across: ", chart->x.title, stream);
	for (size_t i = 0; i < chart->n_series; i++) {
		const char lead[] = {' ', ' ', key_of(i), ' ', '\0'};
		put_text(d, lead, chart->series[i].name, stream);
	}
	for (size_t i = 0; i < chart->n_lines; i++)
		if (*chart->lines[i].text && chart_clip(&chart->lines[i], &d->x, &d->y, ends))
			put_text(d,
				 chart->lines[i].pale                  ? "  . "
				 : chart->lines[i].kind == CHART_SLOPE ? "  / "
				 : chart->lines[i].kind == CHART_LEVEL ? "  - "
								       : "  | ",
				 chart->lines[i].text, stream);
}

struct rf_error *chart_text(const struct chart *chart, const struct terminal *terminal,
			    FILE *stream)
{
	struct drawing d = {.chart = chart,
			    .terminal = terminal,
			    .x = chart_x_scale(chart),
			    .y = chart_y_scale(chart)};
	d.columns = terminal->columns > MARGIN + LEAST_WIDTH ? terminal->columns - MARGIN - 1
							     : LEAST_WIDTH;
	d.columns = d.columns > MOST_WIDTH ? MOST_WIDTH : d.columns;
	d.rows = d.columns / 4 < 14 ? 14 : d.columns / 4;
	d.cells = malloc(d.columns * d.rows);
	if (!d.cells)
		return rf_error_no_memory();
	memset(d.cells, ' ', d.columns * d.rows);
	for (size_t pale = 2; pale-- > 0;)
		for (size_t i = 0; i < chart->n_lines; i++)
			if (chart->lines[i].pale == (pale == 1))
				put_line(&d, &chart->lines[i]);
	for (size_t i = 0; i < chart->n_series; i++)
		put_points(&d, i);
	print(&d, stream);
	free(d.cells);
	return NULL;
}
