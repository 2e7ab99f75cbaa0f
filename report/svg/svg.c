/* The roofline as a picture: log-log, a labelled point per function; svg_roofs.c draws the roofs.
 */
#include "report/svg/svg.h"

#include "base/text.h"
#include "report/diff/diff.h"
#include "report/reasons/words.h"
#include "report/svg/picture.h"
#include "report/svg/svg_arrows.h"
#include "report/svg/svg_legend.h"
#include "report/svg/svg_roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TOP 20                       /* pairs of a comparison */
#define FAULT "#c00000\" stroke-width=\"2.5" /* ring around a point above its roof */

/* ---- ranges ---- */

/* False for an intensity so high that its point stands at the right edge, and the picture is not
 * made wider for it. */
static bool in_picture(double intensity)
{
	return intensity > 0 && intensity <= MODEL_IN_CACHE;
}

/* The number of 1, 2, 5, 10, … next to a value, below it or above it. */
static double round_number(double value, bool up)
{
	static const double digits[] = {1, 2, 5, 10};
	const double decade = pow(10, floor(log10(value))), first = value / decade;
	const double slack = up ? 1 - 1e-9 : 1 + 1e-9; /* a round number is its own */
	for (size_t i = 0; i < 4; i++)
		if (digits[i] >= first * slack)
			return decade * (up ? digits[i] : digits[i - (i > 0)]);
	return decade * 10;
}

/* As far as the data, with room for labels around the points. */
static void snap(struct range *range)
{
	range->low = round_number(range->low / 1.6, false);
	range->high = round_number(range->high * 1.6, true);
}

static void choose_ranges(struct picture *p)
{
	double strip = 0.1, above = 1;
	p->x = p->y = (struct range){INFINITY, 0};
	svg_roofs_widen(p);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct model_function *f = p->points[i].function;
		if (p->points[i].strip) {
			strip = fmin(strip, 1 / f->place.distance);
			above = fmax(above, 1.6 / f->place.distance);
			continue;
		}
		if (!p->level || in_picture(report_intensity_at(f, p->level)))
			svg_widen(&p->x, report_intensity_at(f, p->level));
		for (size_t k = 0;
		     p->view->options->levels && f->traffic && k < f->traffic->n_levels; k++)
			if (in_picture(f->traffic->levels[k].intensity))
				svg_widen(&p->x, f->traffic->levels[k].intensity);
		svg_widen(&p->y, f->place.point);
	}
	svg_arrows_widen(p);
	if (p->y.high <= 0)
		p->y = (struct range){0.1, 100};
	if (p->x.high <= 0)
		p->x = (struct range){0.05, 20};
	snap(&p->x);
	snap(&p->y);
	p->strip =
		(struct range){pow(10, floor(log10(fmax(strip, 1e-6)))), above > 1.6 ? above : 1};
}

/* ---- drawing ---- */

static void grid_line(const struct picture *p, bool vertical, double value, bool decade)
{
	const double at = vertical ? svg_x(p, value) : svg_y(p, value);
	const char *style = decade ? "stroke=\"#dddddd\"" : "stroke=\"#f0f0f0\"";
	if (vertical)
		svg_line(p, at, TOP, at, BOTTOM, style);
	else
		svg_line(p, LEFT, at, RIGHT, at, style);
}

static void tick_text(const struct picture *p, bool vertical, double tick)
{
	const char *format = tick >= 0.0009 && tick < 2e6 ? "%.10g" : "%.0e";
	if (vertical)
		svg_text(p, svg_x(p, tick), BOTTOM + 18, "text-anchor=\"middle\"", format, tick);
	else
		svg_text(p, LEFT - 8, svg_y(p, tick) + 4, "text-anchor=\"end\"", format, tick);
}

static void grid(const struct picture *p, bool vertical)
{
	const struct range *range = vertical ? &p->x : &p->y;
	const int first = (int)floor(log10(range->low) + 1e-9),
		  last = (int)floor(log10(range->high) + 1e-9);
	const int every = (last - first + 7) / 8; /* many decades: name some of them only */
	const bool few = log10(range->high / range->low) < 2; /* one decade, or none, in it */
	for (int decade = first; decade <= last; decade++)
		for (int digit = 1; digit < 10 && (digit == 1 || last - first <= 6); digit++) {
			const double value = pow(10, decade) * digit;
			if (value < range->low * (1 - 1e-9) || value > range->high * (1 + 1e-9))
				continue;
			grid_line(p, vertical, value, digit == 1);
			if (digit == 1 ? (decade - first) % (every ? every : 1) == 0
				       : few && (digit == 2 || digit == 5))
				tick_text(p, vertical, value);
		}
}

static void axes(struct picture *p)
{
	static const char *const whats[] = {[DIRECTION_BOTH] = "moved to or from",
					    [DIRECTION_READ] = "read from",
					    [DIRECTION_WRITE] = "written to"};
	grid(p, true);
	grid(p, false);
	fprintf(p->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
		"stroke=\"#888888\"/>\n",
		LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
	const double middle = (LEFT + RIGHT) / 2, y = BOTTOM + 42;
	const char *style = "text-anchor=\"middle\" font-size=\"14\"";
	if (p->level && p->view->options->levels)
		svg_text(p, middle, y, style, "intensity (flop per byte moved at the level)");
	else if (p->level && strcmp(p->level, "L1") != 0)
		svg_text(p, middle, y, style, "operational intensity (flop per byte %s %s)",
			 whats[p->view->options->direction],
			 strcmp(p->level, "DRAM") == 0 ? "memory" : p->level);
	else
		svg_text(p, middle, y, style,
			 "arithmetic intensity (flop per byte loaded or stored)");
	fprintf(p->out,
		"<text transform=\"translate(22 %.1f) rotate(-90)\" text-anchor=\"middle\" "
		"font-size=\"14\">performance (GFLOP/s)</text>\n",
		(TOP + BOTTOM) / 2);
}

/* ---- points ---- */

/* The area of a point stands for its time, so the radius for the square root. */
static double radius(const struct picture *p, const struct model_function *f)
{
	double most = 0;
	for (size_t i = 0; i < p->n_points; i++)
		most = fmax(most, (double)p->points[i].function->time_ns);
	return 4 + 12 * sqrt((double)f->time_ns / most);
}

/* Where the points are and how large their labels; the roofs' labels keep clear of the points. */
static void measure_labels(struct picture *p)
{
	for (size_t i = 0; i < p->n_points; i++) {
		struct label *label = &p->labels[i];
		bool strip = p->points[i].strip;
		svg_position(p, p->points[i].function, strip, &label->x, &label->y);
		label->radius = radius(p, p->points[i].function);
		label->width = (double)text_columns(p->points[i].name) * COLUMN_WIDTH;
		label->height = FONT + 3;
		label->frame = (struct box){LEFT + 3, strip ? STRIP_TOP + 3 : TOP + 3, RIGHT - 3,
					    strip ? STRIP_BOTTOM - 3 : BOTTOM - 3};
	}
}

static void write_title(const struct picture *p, const struct model_function *f)
{
	FILE *out = p->out;
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER], words[64];
	fputs("<title>", out);
	text_write_xml(out, f->name);
	fprintf(out, "&#10;%s s (%.1f %%)&#10;", text_number(a, (double)f->time_ns * 1e-9),
		100 * f->share);
	if (f->place.axis == AXIS_FLOP)
		fprintf(out, "%s GFLOP/s at %s flop/byte&#10;", text_number(b, f->place.point),
			text_number(c, report_intensity_at(f, p->level)));
	if (f->place.roof > 0)
		fprintf(out, "%s of its roof, %s bound%s%s",
			report_put_of_roof((char[64]){0}, "", f->place.distance),
			report_bound_words(&f->place, words, sizeof(words)),
			!f->place.level[0] ? ""
			: f->place.traced  ? " "
					   : " ~",
			f->place.level);
	fputs("</title>", out);
}

static void draw_point(const struct picture *p, size_t i)
{
	const struct model_function *f = p->points[i].function;
	const struct label *label = &p->labels[i];
	fprintf(p->out,
		"<circle class=\"%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\" "
		"fill-opacity=\"0.75\" stroke=\"%s\" data-name=\"",
		p->points[i].strip ? "point control" : "point", label->x, label->y, label->radius,
		svg_colour(f->place.bound), f->place.above ? FAULT : "#ffffff");
	text_write_xml(p->out, p->points[i].name);
	if (isfinite(report_intensity_at(f, p->level)))
		fprintf(p->out, "\" data-intensity=\"%.9g", report_intensity_at(f, p->level));
	fprintf(p->out, "\" data-point=\"%.9g\" data-time-s=\"%.9g\">", f->place.point,
		(double)f->time_ns * 1e-9);
	write_title(p, f);
	fputs("</circle>\n", p->out);
}

/* One ring a level, on a thin line through the point. */
static void draw_levels(const struct picture *p, size_t i)
{
	const struct model_function *f = p->points[i].function;
	double left = p->labels[i].x, right = p->labels[i].x, y = p->labels[i].y;
	for (size_t k = 0; k < f->traffic->n_levels; k++) {
		const double intensity = f->traffic->levels[k].intensity;
		left = intensity > 0 ? fmin(left, svg_x(p, intensity)) : left;
		right = intensity > 0 ? fmax(right, svg_x(p, intensity)) : right;
	}
	svg_line(p, left, y, right, y, "class=\"levels\" stroke=\"#666666\" stroke-width=\"0.8\"");
	for (size_t k = 0; k < f->traffic->n_levels; k++) {
		const struct model_level *level = &f->traffic->levels[k];
		if (!in_picture(level->intensity) || strcmp(level->name, p->level) == 0)
			continue;
		fprintf(p->out,
			"<circle class=\"level\" cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"#ffffff\" "
			"stroke=\"%s\" "
			"stroke-width=\"1.5\" data-level=\"%s\" "
			"data-intensity=\"%.9g\"><title>%s</title></circle>\n",
			svg_x(p, level->intensity), y, svg_colour(f->place.bound), level->name,
			level->intensity, level->name);
		fprintf(p->out,
			"<text class=\"halo\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" "
			"font-size=\"9\" fill=\"#666666\">%s</text>\n",
			svg_x(p, level->intensity), k % 2 ? y - 8 : y + 14, level->name);
	}
}

/* A line from the point to a label that had to go further away. */
static void draw_leader(const struct picture *p, const struct label *label)
{
	double x = fmin(fmax(label->x, label->box.left), label->box.right);
	double y = fmin(fmax(label->y, label->box.top), label->box.bottom);
	if (hypot(x - label->x, y - label->y) > label->radius + 8)
		svg_line(p, label->x, label->y, x, y, "stroke=\"#999999\" stroke-width=\"0.8\"");
}

static void points(struct picture *p)
{
	labels_place(p->labels, p->n_points, p->obstacles, p->n_obstacles);
	for (size_t i = 0; i < p->n_points; i++)
		if (p->labels[i].placed)
			draw_leader(p, &p->labels[i]);
	for (size_t i = p->n_points; i-- > 0;) /* the first on top */
		if (p->view->options->levels && p->points[i].function->traffic &&
		    !p->points[i].strip)
			draw_levels(p, i);
	for (size_t i = p->n_points; i-- > 0;)
		draw_point(p, i);
	svg_arrows(p);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct label *label = &p->labels[i];
		if (!label->placed)
			continue;
		fprintf(p->out,
			"<text class=\"label halo\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
			(label->box.left + label->box.right) / 2, label->box.bottom - 4);
		text_write_xml(p->out, p->points[i].name);
		fputs("</text>\n", p->out);
	}
}

static void draw_strip(struct picture *p)
{
	if (!p->n_strip)
		return;
	fprintf(p->out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fafafa\" "
		"stroke=\"#888888\"/>\n",
		LEFT, STRIP_TOP, RIGHT - LEFT, STRIP_BOTTOM - STRIP_TOP);
	svg_text(p, LEFT, STRIP_TOP - 8, "font-size=\"13\"",
		 "functions without flop, by their share of the bandwidth or issue roof");
	int first = (int)lround(log10(p->strip.low)), every = (-first + 5) / 6;
	for (int decade = first; decade <= 0; decade++) {
		double x = svg_strip_x(p, pow(10, decade));
		svg_line(p, x, STRIP_TOP, x, STRIP_BOTTOM,
			 decade ? "stroke=\"#dddddd\"" : "stroke=\"#222222\"");
		if ((decade - first) % every == 0)
			svg_text(p, x, STRIP_BOTTOM + 18, "text-anchor=\"middle\"", "%.10g %%",
				 100 * pow(10, decade));
	}
}

static struct rf_error *collect_points(struct picture *p)
{
	const struct report_view *view = p->view;
	p->points = calloc(view->n_shown + 1, sizeof(*p->points));
	p->labels = calloc(view->n_shown + 1, sizeof(*p->labels));
	if (!p->points || !p->labels)
		return rf_error_no_memory();
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		bool by_flop = f->place.axis == AXIS_FLOP;
		if (f->place.axis == AXIS_NONE || (!by_flop && !(f->place.roof > 0)))
			continue;
		char *name = text_shorten(f->name, NAME_COLUMNS);
		p->points[p->n_points++] = (struct point){f, !by_flop, name};
		p->n_strip += !by_flop;
		if (!name)
			return rf_error_no_memory();
	}
	return NULL;
}

static void choose_threads(struct picture *p)
{
	const struct profile *profile = p->view->profile;
	int fewest = 0, most = 0;
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const int threads = profile->roofs[i].threads;
		fewest = !fewest || threads < fewest ? threads : fewest;
		most = threads > most ? threads : most;
	}
	p->threads = report_roof_threads(p->view);
	p->other_threads = p->threads < most ? most : fewest;
}

static struct rf_error *draw(struct picture *p)
{
	struct rf_error *error = collect_points(p);
	if (error)
		return error;
	p->level = report_picture_level(p->view);
	choose_ranges(p);
	svg_head(p);
	axes(p);
	draw_strip(p);
	measure_labels(p);
	svg_roofs(p);
	points(p);
	svg_legend(p);
	fputs("</svg>\n", p->out);
	return NULL;
}

struct rf_error *report_svg(const struct report_view *view, FILE *stream)
{
	const struct utf8_locale locale = utf8_locale_begin();
	struct picture *p = calloc(1, sizeof(*p));
	struct rf_error *error = p ? NULL : rf_error_no_memory();
	if (p) {
		p->view = view;
		p->out = stream;
		p->precision = roof_precision_find(report_main_precision(view->model));
		if (model_peak(view->profile, p->precision, 1) <= 0)
			p->precision = ROOF_PRECISION_DOUBLE;
		choose_threads(p);
		error = draw(p);
		for (size_t i = 0; i < p->n_points; i++)
			free(p->points[i].name);
		free(p->points);
		free(p->labels);
	}
	free(p);
	utf8_locale_end(locale);
	return error;
}

struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream)
{
	const struct report_options options = {.top = top};
	const struct model_function *first = diff->b.model.functions;
	size_t *rank = malloc((diff->n_functions + 1) * sizeof(*rank)), n = 0;
	top = top ? top : DEFAULT_TOP;
	if (!rank)
		return rf_error_no_memory();
	for (size_t i = 0; i < diff->n_functions && i < top; i++)
		if (diff->functions[i].b)
			rank[n++] = (size_t)(diff->functions[i].b - first);
	const struct report_view view = {.profile = diff->b.profile,
					 .model = &diff->b.model,
					 .options = &options,
					 .rank = rank,
					 .n_rank = n,
					 .n_shown = n,
					 .diff = diff,
					 .n_top = top};
	struct rf_error *error = report_svg(&view, stream);
	free(rank);
	return error;
}
