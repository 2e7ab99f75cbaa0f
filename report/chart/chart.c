/* Charts in memory, and their axes. */
#include "report/chart/chart.h"

#include "base/array.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

void chart_init(struct chart *chart)
{
	*chart = (struct chart){.x = {.low = NAN, .high = NAN}, .y = {.low = NAN, .high = NAN}};
}

void chart_deinit(struct chart *chart)
{
	for (size_t i = 0; i < chart->n_series; i++) {
		free(chart->series[i].name);
		free(chart->series[i].points);
	}
	free(chart->series);
	chart->series = NULL;
	chart->n_series = chart->cap_series = 0;
}

struct chart_series *chart_add_series(struct chart *chart, const char *name)
{
	const struct chart_series new = {.name = strdup(name)};
	if (!new.name || !rf_array_push(chart->series, chart->n_series, chart->cap_series, new)) {
		free(new.name);
		return NULL;
	}
	return &chart->series[chart->n_series - 1];
}

struct chart_point *chart_add_point(struct chart_series *series, double x, double y,
				    const char *label)
{
	const struct chart_point new = {x, y, NAN, NAN, NAN, NAN, NAN, NAN, label, NULL};
	return rf_array_push(series->points, series->n, series->cap, new)
		       ? &series->points[series->n - 1]
		       : NULL;
}

struct chart_line *chart_add_line(struct chart *chart, enum chart_line_kind kind, double value)
{
	if (chart->n_lines == CHART_LINES || !isfinite(value))
		return NULL;
	struct chart_line *line = &chart->lines[chart->n_lines++];
	*line = (struct chart_line){.kind = kind, .value = value, .from = NAN, .to = NAN};
	return line;
}

static bool fits(const struct chart_axis *axis, double value)
{
	return isfinite(value) && (!axis->log || value > 0);
}

bool chart_shows(const struct chart *chart, const struct chart_point *point)
{
	return (fits(&chart->x, point->x) || point->x == INFINITY) && fits(&chart->y, point->y);
}

/* ---- scales ---- */

static void widen(struct chart_scale *scale, const struct chart_axis *axis, double value)
{
	if (!fits(axis, value))
		return;
	scale->low = fmin(scale->low, value);
	scale->high = fmax(scale->high, value);
}

/* 1, 2 or 5 times a power of ten, next to a value. */
static double round_number(double value, bool up)
{
	static const double digits[] = {1, 2, 5, 10};
	const double decade = pow(10, floor(log10(value))), first = value / decade;
	const double slack = up ? 1 - 1e-9 : 1 + 1e-9;
	for (size_t i = 0; i < 4; i++)
		if (digits[i] >= first * slack)
			return decade * (up ? digits[i] : digits[i - (i > 0)]);
	return decade * 10;
}

/* From what is on it to its ends. */
static void round_ends(struct chart_scale *scale, const struct chart_axis *axis)
{
	if (!(scale->low <= scale->high)) {
		*scale = (struct chart_scale){axis->log ? 1 : 0, 10, axis->log};
		return;
	}
	if (axis->log) {
		scale->low = round_number(scale->low / 1.25, false);
		scale->high = round_number(scale->high * 1.25, true);
		return;
	}
	if (axis->from_zero)
		scale->low = fmin(scale->low, 0);
	double width = scale->high - scale->low;
	if (!(width > 0))
		width = scale->high != 0 ? fabs(scale->high) : 1;
	const double step = round_number(width / 8, true);
	scale->high = ceil((scale->high + 0.04 * width) / step) * step;
	scale->low = axis->from_zero && scale->low == 0
			     ? 0
			     : floor((scale->low - 0.04 * width) / step) * step;
}

static struct chart_scale begin(const struct chart_axis *axis)
{
	struct chart_scale scale = {DBL_MAX, -DBL_MAX, axis->log};
	widen(&scale, axis, axis->low);
	widen(&scale, axis, axis->high);
	return scale;
}

struct chart_scale chart_x_scale(const struct chart *chart)
{
	struct chart_scale scale = begin(&chart->x);
	for (size_t i = 0; i < chart->n_series; i++)
		for (size_t k = 0; k < chart->series[i].n; k++) {
			const struct chart_point *point = &chart->series[i].points[k];
			if (!chart_shows(chart, point))
				continue;
			widen(&scale, &chart->x, point->x);
			widen(&scale, &chart->x, point->x_q1);
			widen(&scale, &chart->x, point->x_q3);
		}
	round_ends(&scale, &chart->x);
	return scale;
}

struct chart_scale chart_y_scale(const struct chart *chart)
{
	struct chart_scale scale = begin(&chart->y);
	for (size_t i = 0; i < chart->n_series; i++)
		for (size_t k = 0; k < chart->series[i].n; k++) {
			const struct chart_point *point = &chart->series[i].points[k];
			if (!chart_shows(chart, point))
				continue;
			const double values[] = {point->y, point->y_q1, point->y_q3, point->y_least,
						 point->y_most};
			for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++)
				widen(&scale, &chart->y, values[v]);
		}
	round_ends(&scale, &chart->y);
	return scale;
}

double chart_share(const struct chart_scale *scale, double value)
{
	const double share = scale->log ? log(value / scale->low) / log(scale->high / scale->low)
					: (value - scale->low) / (scale->high - scale->low);
	return !(share > 0) ? 0 : fmin(share, 1);
}

double chart_value(const struct chart_scale *scale, double share)
{
	return scale->log ? scale->low * pow(scale->high / scale->low, share)
			  : scale->low + (scale->high - scale->low) * share;
}

static size_t log_ticks(const struct chart_scale *scale, struct chart_tick ticks[CHART_TICKS])
{
	const int first = (int)floor(log10(scale->low) + 1e-9),
		  last = (int)floor(log10(scale->high) + 1e-9), decades = last - first + 1;
	const int every = (decades + 8) / 9;
	size_t n = 0;
	for (int decade = first; decade <= last; decade++)
		for (int digit = 1; digit < 10 && n < CHART_TICKS; digit++) {
			const double value = pow(10, decade) * digit;
			if (value < scale->low * (1 - 1e-9) || value > scale->high * (1 + 1e-9) ||
			    (digit > 1 && decades > 5))
				continue;
			const bool few = log10(scale->high / scale->low) < 2.2;
			ticks[n++] =
				(struct chart_tick){value,
						    digit == 1 ? (decade - first) % every == 0
							       : few && (digit == 2 || digit == 5)};
		}
	return n;
}

size_t chart_ticks(const struct chart_scale *scale, struct chart_tick ticks[CHART_TICKS])
{
	if (scale->log)
		return log_ticks(scale, ticks);
	const double step = round_number((scale->high - scale->low) / 8, true);
	size_t n = 0;
	for (double value = ceil(scale->low / step - 1e-9) * step;
	     value <= scale->high + step * 1e-6 && n < CHART_TICKS; value += step)
		ticks[n++] = (struct chart_tick){fabs(value) < step * 1e-6 ? 0 : value, true};
	return n;
}

bool chart_clip(const struct chart_line *line, const struct chart_scale *x,
		const struct chart_scale *y, double ends[4])
{
	double from = isfinite(line->from) ? fmax(line->from, x->low) : x->low,
	       to = isfinite(line->to) ? fmin(line->to, x->high) : x->high;
	if (line->kind == CHART_UPRIGHT) {
		ends[0] = ends[2] = line->value;
		ends[1] = y->low;
		ends[3] = y->high;
		return line->value >= x->low && line->value <= x->high;
	}
	if (line->kind == CHART_SLOPE) {
		if (!(line->value > 0))
			return false;
		from = fmax(from, y->low / line->value);
		to = fmin(to, y->high / line->value);
	}
	const double slope = line->kind == CHART_SLOPE;
	ends[0] = from;
	ends[2] = to;
	ends[1] = slope > 0 ? line->value * from : line->value;
	ends[3] = slope > 0 ? line->value * to : line->value;
	return from < to && ends[1] <= y->high * (1 + 1e-9) && ends[3] >= y->low;
}
