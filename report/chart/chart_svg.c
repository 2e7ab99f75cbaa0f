/* Draws a chart as SVG. */
#include "report/chart/chart_svg.h"

#include "base/text.h"
#include "report/svg/svg_labels.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1040.0
#define HEIGHT 640.0
#define LEFT 86.0
#define RIGHT 800.0
#define TOP 62.0
#define BOTTOM 570.0
#define LEGEND 822.0
#define LEGEND_COLUMNS 30
#define FONT 12.0
#define COLUMN_WIDTH (FONT * 0.56)
#define RADIUS 4.0
#define MOST_OBSTACLES 4096
#define N_COLOURS 8
#define N_SHAPES 4

/* Okabe and Ito's colours, which people who see few colours can tell apart; without yellow. */
static const char *const colours[N_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
					       "#e69f00", "#56b4e9", "#7a5c00", "#444444"};

struct drawing {
	const struct chart *chart;
	FILE *out;
	struct chart_scale x, y;
	struct label *labels; /* of all points that are seen, by series */
	size_t n_labels;
	struct box *obstacles;
	size_t n_obstacles;
};

static double pixel_x(const struct drawing *d, double value)
{
	return LEFT + (RIGHT - LEFT) * (value == INFINITY ? 1 : chart_share(&d->x, value));
}

static double pixel_y(const struct drawing *d, double value)
{
	return BOTTOM - (BOTTOM - TOP) * chart_share(&d->y, value);
}

static const char *colour_of(size_t series)
{
	return colours[series % N_COLOURS];
}

static void line(const struct drawing *d, double x1, double y1, double x2, double y2,
		 const char *attributes)
{
	fprintf(d->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
		y2, attributes);
}

__attribute__((format(printf, 5, 6))) static void text(const struct drawing *d, double x, double y,
						       const char *attributes, const char *format,
						       ...)
{
	char buffer[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(buffer, sizeof(buffer), format, arguments);
	va_end(arguments);
	char *clean = text_clean(buffer);
	fprintf(d->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	if (clean)
		text_write_xml(d->out, clean);
	fputs("</text>\n", d->out);
	free(clean);
}

/* ---- axes ---- */

static void put_tick(const struct drawing *d, bool upright, const struct chart_tick *tick)
{
	const double at = upright ? pixel_x(d, tick->value) : pixel_y(d, tick->value);
	const char *style = tick->named ? "stroke=\"#dddddd\"" : "stroke=\"#f0f0f0\"";
	const double size = fabs(tick->value);
	const char *format = size == 0 || (size >= 0.0009 && size < 2e6) ? "%.6g" : "%.3g";
	if (upright)
		line(d, at, TOP, at, BOTTOM, style);
	else
		line(d, LEFT, at, RIGHT, at, style);
	if (!tick->named)
		return;
	char number[32];
	snprintf(number, sizeof(number), format, tick->value);
	if (upright)
		text(d, at, BOTTOM + 18, "text-anchor=\"middle\"", "%s", number);
	else
		text(d, LEFT - 8, at + 4, "text-anchor=\"end\"", "%s", number);
}

static void axes(const struct drawing *d)
{
	struct chart_tick ticks[CHART_TICKS];
	size_t n = chart_ticks(&d->x, ticks);
	for (size_t i = 0; i < n; i++)
		put_tick(d, true, &ticks[i]);
	n = chart_ticks(&d->y, ticks);
	for (size_t i = 0; i < n; i++)
		put_tick(d, false, &ticks[i]);
	fprintf(d->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
		"stroke=\"#888888\"/>\n",
		LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
	text(d, (LEFT + RIGHT) / 2, BOTTOM + 44, "text-anchor=\"middle\" font-size=\"14\"", "%s",
	     d->chart->x.title);
	fprintf(d->out,
		"<text transform=\"translate(22 %.1f) rotate(-90)\" text-anchor=\"middle\" "
		"font-size=\"14\">",
		(TOP + BOTTOM) / 2);
	text_write_xml(d->out, d->chart->y.title);
	fputs("</text>\n", d->out);
}

/* ---- lines ---- */

static void add_obstacle(struct drawing *d, double left, double top, double right, double bottom)
{
	if (d->n_obstacles < MOST_OBSTACLES)
		d->obstacles[d->n_obstacles++] = (struct box){left, top, right, bottom};
}

/* Along a line's text, so that labels keep clear of it. */
static void block_along(struct drawing *d, double x, double y, double angle, double length)
{
	for (double at = 0; at <= length; at += 8)
		add_obstacle(d, x + cos(angle) * at - 6, y + sin(angle) * at - 14,
			     x + cos(angle) * at + 6, y + sin(angle) * at + 3);
}

/* Texts of rising lines, which may be close to each other, begin at different heights. */
static void line_text(struct drawing *d, const struct chart_line *of, const double at[4],
		      size_t nth)
{
	const double length = (double)text_columns(of->text) * COLUMN_WIDTH,
		     angle = atan2(at[3] - at[1], at[2] - at[0]),
		     whole = hypot(at[2] - at[0], at[3] - at[1]);
	const char *fill = of->pale ? "#888888" : "#333333";
	double from = 8 + (double)(nth % 3) * 190;
	if (of->kind == CHART_LEVEL)
		from = whole - length - 6;
	else if (of->kind == CHART_UPRIGHT || from + length > whole)
		from = fmax(4, whole - length - 6);
	const double x = at[0] + cos(angle) * from, y = at[1] + sin(angle) * from;
	fprintf(d->out,
		"<text class=\"halo\" transform=\"translate(%.1f %.1f) rotate(%.2f)\" dy=\"-4\" "
		"font-size=\"11\" fill=\"%s\">",
		x, y, angle * 180 / M_PI, fill);
	text_write_xml(d->out, of->text);
	fputs("</text>\n", d->out);
	block_along(d, x, y, angle, length);
}

static void lines(struct drawing *d)
{
	size_t n_rising = 0;
	for (size_t i = 0; i < d->chart->n_lines; i++) {
		const struct chart_line *of = &d->chart->lines[i];
		double ends[4];
		char style[160];
		if (!chart_clip(of, &d->x, &d->y, ends))
			continue;
		const double at[4] = {pixel_x(d, ends[0]), pixel_y(d, ends[1]), pixel_x(d, ends[2]),
				      pixel_y(d, ends[3])};
		snprintf(style, sizeof(style),
			 "class=\"roof\" stroke=\"%s\" stroke-width=\"%s\"%s data-value=\"%.9g\"",
			 of->pale ? "#b0b0b0" : "#222222", of->pale ? "1.3" : "1.8",
			 of->dashed ? " stroke-dasharray=\"5 4\"" : "", of->value);
		line(d, at[0], at[1], at[2], at[3], style);
		if (*of->text)
			line_text(d, of, at, of->kind == CHART_SLOPE ? n_rising++ : 0);
	}
}

/* ---- points ---- */

static void measure_labels(struct drawing *d)
{
	for (size_t i = 0; i < d->chart->n_series; i++)
		for (size_t k = 0; k < d->chart->series[i].n; k++) {
			const struct chart_point *point = &d->chart->series[i].points[k];
			if (!chart_shows(d->chart, point))
				continue;
			const double columns =
				point->label ? (double)text_columns(point->label) : 0;
			d->labels[d->n_labels++] =
				(struct label){.x = pixel_x(d, point->x),
					       .y = pixel_y(d, point->y),
					       .radius = RADIUS,
					       .width = columns * COLUMN_WIDTH,
					       .height = FONT + 1,
					       .frame = {LEFT + 2, TOP + 2, RIGHT - 2, BOTTOM - 2}};
		}
}

/* Begins the element, and says which one it is. */
static const char *put_marker(const struct drawing *d, size_t series, double x, double y)
{
	static const char *const shapes[N_SHAPES] = {NULL, "M-4 -4H4V4H-4Z", "M0 -5.5L5 3.5H-5Z",
						     "M0 -5.5L5.5 0L0 5.5L-5.5 0Z"};
	const char *shape = shapes[(series + series / N_COLOURS) % N_SHAPES];
	if (!shape)
		fprintf(d->out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\" fill=\"%s\"", x, y,
			RADIUS, colour_of(series));
	else
		fprintf(d->out, "<path transform=\"translate(%.2f %.2f)\" d=\"%s\" fill=\"%s\"", x,
			y, shape, colour_of(series));
	return shape ? "path" : "circle";
}

static void put_title(const struct drawing *d, const struct chart_series *series,
		      const struct chart_point *point)
{
	char x[TEXT_NUMBER], y[TEXT_NUMBER];
	fputs("<title>", d->out);
	text_write_xml(d->out, series->name);
	if (point->label) {
		fputs("&#10;", d->out);
		text_write_xml(d->out, point->label);
	}
	fprintf(d->out, "&#10;x %s&#10;y %s</title>", text_number(x, point->x),
		text_number(y, point->y));
}

static void put_point(const struct drawing *d, size_t i, const struct chart_point *point)
{
	const char *element = put_marker(d, i, pixel_x(d, point->x), pixel_y(d, point->y));
	fprintf(d->out, " class=\"point\" stroke=\"#ffffff\" data-series=\"");
	text_write_xml(d->out, d->chart->series[i].name);
	fprintf(d->out, "\" data-label=\"");
	text_write_xml(d->out, point->label ? point->label : "");
	fprintf(d->out, "\" data-x=\"%.9g\" data-y=\"%.9g\">", point->x, point->y);
	put_title(d, &d->chart->series[i], point);
	fprintf(d->out, "</%s>\n", element);
}

/* The box of the quartiles, and whiskers to the least and the most. */
static void put_spread(const struct drawing *d, size_t i, const struct chart_point *point)
{
	const double x = pixel_x(d, point->x), y = pixel_y(d, point->y);
	char style[128];
	snprintf(style, sizeof(style), "class=\"spread\" stroke=\"%s\" stroke-width=\"1\"",
		 colour_of(i));
	const double left = isfinite(point->x_q1) ? pixel_x(d, point->x_q1) : x - 3,
		     right = isfinite(point->x_q3) ? pixel_x(d, point->x_q3) : x + 3;
	if (isfinite(point->y_q1) && isfinite(point->y_q3) && point->y_q1 < point->y_q3) {
		const double top = pixel_y(d, point->y_q3), bottom = pixel_y(d, point->y_q1);
		fprintf(d->out,
			"<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
			"fill=\"%s\" fill-opacity=\"0.15\" stroke=\"%s\"/>\n",
			left, top, fmax(right - left, 2), fmax(bottom - top, 0.5), colour_of(i),
			colour_of(i));
	} else if (right > left + 7) {
		line(d, left, y, right, y, style);
	}
	if (isfinite(point->y_least) && isfinite(point->y_most) && point->y_least < point->y_most)
		line(d, x, pixel_y(d, point->y_least), x, pixel_y(d, point->y_most), style);
}

static void connect(const struct drawing *d, size_t i)
{
	const struct chart_series *series = &d->chart->series[i];
	const struct chart_point *before = NULL;
	char style[96];
	snprintf(style, sizeof(style), "class=\"series\" stroke=\"%s\" stroke-width=\"1.4\"",
		 colour_of(i));
	for (size_t k = 0; k < series->n && !series->scattered; k++) {
		const struct chart_point *point = &series->points[k];
		if (!chart_shows(d->chart, point))
			continue;
		if (before)
			line(d, pixel_x(d, before->x), pixel_y(d, before->y), pixel_x(d, point->x),
			     pixel_y(d, point->y), style);
		before = point;
	}
}

/* The next series after `i` that has a point to be joined with this one. */
static const struct chart_point *partner(const struct drawing *d, size_t i, const char *join)
{
	for (size_t s = i + 1; s < d->chart->n_series; s++)
		for (size_t k = 0; k < d->chart->series[s].n; k++) {
			const struct chart_point *other = &d->chart->series[s].points[k];
			if (other->join && strcmp(other->join, join) == 0 &&
			    chart_shows(d->chart, other))
				return other;
		}
	return NULL;
}

static void join(const struct drawing *d, size_t i)
{
	for (size_t k = 0; k < d->chart->series[i].n; k++) {
		const struct chart_point *point = &d->chart->series[i].points[k];
		const struct chart_point *other = point->join && chart_shows(d->chart, point)
							  ? partner(d, i, point->join)
							  : NULL;
		if (other)
			line(d, pixel_x(d, point->x), pixel_y(d, point->y), pixel_x(d, other->x),
			     pixel_y(d, other->y),
			     "class=\"join\" stroke=\"#999999\" stroke-dasharray=\"4 4\"");
	}
}

static void points(struct drawing *d)
{
	for (size_t i = 0; i < d->chart->n_series; i++)
		join(d, i);
	for (size_t i = 0; i < d->chart->n_series; i++) {
		for (size_t k = 0; k < d->chart->series[i].n; k++)
			if (chart_shows(d->chart, &d->chart->series[i].points[k]))
				put_spread(d, i, &d->chart->series[i].points[k]);
		connect(d, i);
	}
	for (size_t i = 0; i < d->chart->n_series; i++)
		for (size_t k = 0; k < d->chart->series[i].n; k++)
			if (chart_shows(d->chart, &d->chart->series[i].points[k]))
				put_point(d, i, &d->chart->series[i].points[k]);
}

static void point_labels(struct drawing *d)
{
	labels_place(d->labels, d->n_labels, d->obstacles, d->n_obstacles);
	size_t at = 0;
	for (size_t i = 0; i < d->chart->n_series; i++)
		for (size_t k = 0; k < d->chart->series[i].n; k++) {
			const struct chart_point *point = &d->chart->series[i].points[k];
			if (!chart_shows(d->chart, point))
				continue;
			const struct label *label = &d->labels[at++];
			char style[96];
			snprintf(style, sizeof(style),
				 "class=\"label halo\" text-anchor=\"middle\" fill=\"%s\"",
				 colour_of(i));
			if (point->label && label->placed)
				text(d, (label->box.left + label->box.right) / 2,
				     label->box.bottom - 3, style, "%s", point->label);
		}
}

/* ---- around it ---- */

static void legend(const struct drawing *d)
{
	double y = TOP + 12;
	for (size_t i = 0; i < d->chart->n_series && y < BOTTOM; i++, y += 21) {
		char *name = text_shorten(d->chart->series[i].name, LEGEND_COLUMNS);
		put_marker(d, i, LEGEND + 6, y - 4);
		fputs("/>\n", d->out);
		text(d, LEGEND + 18, y, "", "%s", name ? name : "");
		free(name);
	}
}

static void head(const struct drawing *d)
{
	fprintf(d->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" "
		"font-size=\"%.0fpx\" fill=\"#222222\">\n"
		"<style>.halo{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:"
		"round}.label{font-size:10.5px}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, FONT);
	text(d, LEFT, 28, "font-size=\"18\" font-weight=\"bold\"", "%s", d->chart->title);
	text(d, LEFT, 48, "fill=\"#666666\"", "%s", d->chart->subtitle);
}

struct rf_error *chart_svg(const struct chart *chart, FILE *stream)
{
	size_t n = 1;
	for (size_t i = 0; i < chart->n_series; i++)
		n += chart->series[i].n;
	const struct utf8_locale locale = utf8_locale_begin();
	struct drawing d = {.chart = chart,
			    .out = stream,
			    .x = chart_x_scale(chart),
			    .y = chart_y_scale(chart),
			    .labels = calloc(n, sizeof(*d.labels)),
			    .obstacles = calloc(MOST_OBSTACLES, sizeof(*d.obstacles))};
	struct rf_error *error = d.labels && d.obstacles ? NULL : rf_error_no_memory();
	if (!error) {
		head(&d);
		axes(&d);
		lines(&d);
		measure_labels(&d);
		points(&d);
		point_labels(&d);
		legend(&d);
		fputs("</svg>\n", stream);
	}
	free(d.labels);
	free(d.obstacles);
	utf8_locale_end(locale);
	return error;
}
