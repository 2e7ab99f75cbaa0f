/* The roofline as a picture: log-log, the roofs of each level, a labelled point per function. */
#include "report/svg_parts.h"

#include "report/text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAULT "#c00000\" stroke-width=\"2.5" /* ring around a point above its roof */

static double log_scale(double value, double low, double high, double from, double to)
{
	double t = (log10(value) - log10(low)) / (log10(high) - log10(low));
	return from + fmin(fmax(t, 0), 1) * (to - from);
}

static double x_of(const struct picture *p, double intensity)
{
	return log_scale(intensity, p->x_min, p->x_max, LEFT, RIGHT);
}

static double y_of(const struct picture *p, double rate)
{
	return log_scale(rate, p->y_min, p->y_max, BOTTOM, TOP);
}

static void keep_free(struct picture *p, double left, double top, double right, double bottom)
{
	if (p->n_obstacles < MAX_OBSTACLES)
		p->obstacles[p->n_obstacles++] = (struct box){left, top, right, bottom};
}

static bool is_kept_free(const struct picture *p, const struct box *box)
{
	for (size_t i = 0; i < p->n_obstacles; i++)
		if (box_overlaps(&p->obstacles[i], box))
			return true;
	return false;
}

/* ---- ranges ---- */

static void widen(double *low, double *high, double value)
{
	if (!(value > 0) || !isfinite(value))
		return;
	*low = fmin(*low, value);
	*high = fmax(*high, value);
}

static double bandwidth(const struct picture *p, const char *level, int threads)
{
	return machine_roof(p->view->profile->roofs, p->view->profile->n_roofs, ROOF_BANDWIDTH, NULL, "",
			    "read", level, threads);
}

/* Whole decades, with room for labels around the points. */
static void snap(double *low, double *high)
{
	*low = pow(10, floor(log10(*low / 1.6)));
	*high = pow(10, ceil(log10(*high * 1.6)));
}

static void choose_ranges(struct picture *p)
{
	const char *levels[MODEL_LEVELS];
	size_t n = model_levels(p->view->profile, levels);
	double peak = model_peak(p->view->profile, p->precision, p->all_threads);
	double x_low = 0.05, x_high = 20, y_low = INFINITY, y_high = 0, strip = 0.1;
	for (size_t i = 0; i < n && peak > 0; i++)
		widen(&x_low, &x_high, model_peak(p->view->profile, p->precision, 1) /
				       bandwidth(p, levels[i], 1));
	widen(&y_low, &y_high, peak);
	widen(&y_low, &y_high, peak / 100);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct model_function *f = p->points[i].function;
		if (p->points[i].strip) {
			strip = fmin(strip, 1 / fmax(f->place.distance, 1));
			continue;
		}
		widen(&x_low, &x_high, f->intensity);
		widen(&y_low, &y_high, f->place.point);
	}
	if (y_high <= 0)
		y_low = 0.1, y_high = 100;
	snap(&x_low, &x_high);
	snap(&y_low, &y_high);
	p->x_min = x_low, p->x_max = x_high, p->y_min = y_low, p->y_max = y_high;
	p->strip_min = pow(10, floor(log10(fmax(strip, 1e-6))));
}

/* ---- drawing ---- */

static void tick_text(char *buffer, size_t size, double value)
{
	if (value >= 0.0009 && value < 2e6)
		snprintf(buffer, size, "%.10g", value);
	else
		snprintf(buffer, size, "%.0e", value);
}

static void grid(struct picture *p, bool vertical, double low, double high)
{
	int first = (int)lround(log10(low)), last = (int)lround(log10(high));
	int every = (last - first + 7) / 8; /* many decades: name some of them only */
	for (int decade = first; decade <= last; decade++) {
		for (int digit = 1; digit < 10 && (digit == 1 || (last - first <= 6 && decade < last)); digit++) {
			double value = pow(10, decade) * digit;
			double at = vertical ? x_of(p, value) : y_of(p, value);
			const char *style = digit == 1 ? "stroke=\"#dddddd\"" : "stroke=\"#f0f0f0\"";
			if (vertical)
				svg_line(p->out, at, TOP, at, BOTTOM, style);
			else
				svg_line(p->out, LEFT, at, RIGHT, at, style);
		}
		char text[32];
		if ((decade - first) % every)
			continue;
		tick_text(text, sizeof(text), pow(10, decade));
		if (vertical)
			svg_text(p->out, x_of(p, pow(10, decade)), BOTTOM + 18, "text-anchor=\"middle\"", text);
		else
			svg_text(p->out, LEFT - 8, y_of(p, pow(10, decade)) + 4, "text-anchor=\"end\"", text);
	}
}

static void axes(struct picture *p)
{
	grid(p, true, p->x_min, p->x_max);
	grid(p, false, p->y_min, p->y_max);
	fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
		"stroke=\"#888888\"/>\n", LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP);
	svg_text(p->out, (LEFT + RIGHT) / 2, BOTTOM + 42, "text-anchor=\"middle\" font-size=\"14\"",
		"arithmetic intensity (flop per byte loaded or stored)");
	fprintf(p->out, "<text transform=\"translate(22 %.1f) rotate(-90)\" text-anchor=\"middle\" "
		"font-size=\"14\">performance (GFLOP/s)</text>\n", (TOP + BOTTOM) / 2);
}

/* Text along a rising line, kept free for the points' labels; left out where there is no room. */
static bool slope_label(struct picture *p, double x, double y, double rise, const char *text,
			const char *colour)
{
	double angle = atan2(-rise, 1), length = (double)text_columns(text) * COLUMN_WIDTH;
	struct box boxes[64];
	size_t n = 0;
	for (double at = 0; at < length && n < 64; at += FONT, n++) {
		double cx = x + cos(angle) * at + sin(angle) * 8, cy = y + sin(angle) * at - cos(angle) * 8;
		boxes[n] = (struct box){cx - 7, cy - 7, cx + 7, cy + 7};
		if (cx > RIGHT - 8 || cy < TOP + 8 || is_kept_free(p, &boxes[n]))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		keep_free(p, boxes[i].left, boxes[i].top, boxes[i].right, boxes[i].bottom);
	fprintf(p->out, "<text class=\"halo\" transform=\"translate(%.1f %.1f) rotate(%.2f)\" dy=\"-4\" "
		"fill=\"%s\">", x, y, angle * 180 / M_PI, colour);
	text_write_xml(p->out, text);
	fputs("</text>\n", p->out);
	return true;
}

/* Text above a level line, at its right end, or further left where that place is taken. */
static void flat_label(struct picture *p, double y, double from, const char *text, const char *colour)
{
	double length = (double)text_columns(text) * COLUMN_WIDTH;
	for (double right = RIGHT - 6; right - length > from; right -= 20) {
		struct box box = {right - length, y - 17, right, y - 2};
		if (box.top < TOP || is_kept_free(p, &box))
			continue;
		char style[96];
		keep_free(p, box.left, box.top, box.right, box.bottom);
		snprintf(style, sizeof(style), "class=\"halo\" text-anchor=\"end\" fill=\"%s\"", colour);
		svg_text(p->out, right, y - 5, style, text);
		return;
	}
}

/* One level's roof from the left edge up to the peak: the line, or its label. */
static void slope(struct picture *p, const char *level, int threads, double peak, bool labels)
{
	double beta = bandwidth(p, level, threads);
	double x1 = beta > 0 ? fmax(p->x_min, p->y_min / beta) : 1;
	double x2 = beta > 0 ? fmin(p->x_max, (peak > 0 ? peak : p->y_max) / beta) : 0;
	if (x1 >= x2)
		return;
	char number[TEXT_NUMBER], text[96], attributes[128];
	double left = x_of(p, x1), right = x_of(p, x2), low = y_of(p, x1 * beta), high = y_of(p, x2 * beta);
	if (!labels) {
		snprintf(attributes, sizeof(attributes), "class=\"roof\" data-level=\"%s\" "
			 "data-threads=\"%d\" stroke=\"%s\" stroke-width=\"%s\"", level, threads,
			 threads == 1 ? "#222222" : "#c4c4c4", threads == 1 ? "2" : "1.4");
		svg_line(p->out, left, low, right, high, attributes);
		return;
	}
	snprintf(text, sizeof(text), "%s %s GB/s%s", level, text_number(number, beta),
		 threads == 1 ? "" : ", all threads");
	double rise = (low - high) / (right - left);
	for (double along = 0.04; along < 0.75; along += 0.05)
		if (slope_label(p, left + (right - left) * along, low - (low - high) * along, rise, text,
				threads == 1 ? "#444444" : "#999999"))
			return;
}

static void slopes(struct picture *p, int threads, bool labels)
{
	const char *levels[MODEL_LEVELS];
	size_t n = model_levels(p->view->profile, levels);
	double peak = model_peak(p->view->profile, p->precision, threads);
	for (size_t i = 0; i < n; i++)
		slope(p, levels[i], threads, peak, labels);
}

static double first_ridge(const struct picture *p, double rate, int threads)
{
	const char *levels[MODEL_LEVELS];
	size_t n = model_levels(p->view->profile, levels);
	double beta = n ? bandwidth(p, levels[n - 1], threads) : 0;
	return beta > 0 ? fmin(fmax(rate / beta, p->x_min), p->x_max) : p->x_min;
}

static void flat(struct picture *p, double rate, int threads, const char *text, const char *style,
		 const char *colour)
{
	if (!(rate > p->y_min))
		return;
	double x = x_of(p, first_ridge(p, rate, threads)), y = y_of(p, rate);
	svg_line(p->out, x, y, RIGHT, y, style);
	flat_label(p, y, x, text, colour);
}

static void peak_line(struct picture *p, const char *precision, int threads, bool main)
{
	const struct roof *row = report_peak_row(p->view->profile, precision, threads);
	char number[TEXT_NUMBER], text[128], style[96];
	if (!row)
		return;
	char *op = text_clean(row->op);
	snprintf(text, sizeof(text), "%s GFLOP/s %s, %s %s, %d thread%s", text_number(number, row->best),
		 report_precision_short(precision), report_isa_name(row->isa),
		 op && strcmp(op, "fma") != 0 ? op : "FMA", threads, threads == 1 ? "" : "s");
	free(op);
	const char *colour = threads == 1 && main ? "#222222" : "#aaaaaa";
	snprintf(style, sizeof(style), "class=\"peak\" stroke=\"%s\" stroke-width=\"%s\"", colour,
		 threads == 1 && main ? "2" : "1.4");
	flat(p, row->best, threads, text, style, threads == 1 && main ? "#444444" : "#999999");
}

/* Ceilings: what this machine reaches at most without FMA, or without vectors. */
static void ceilings(struct picture *p)
{
	static const struct { const char *isa, *op, *text; } ceiling[] = {
		{NULL, "add", "without FMA"}, {"scalar", "fma", "scalar FMA"},
		{"scalar", "add", "scalar, no FMA"},
	};
	const struct profile *profile = p->view->profile;
	for (size_t i = 0; i < sizeof(ceiling) / sizeof(*ceiling); i++) {
		double rate = machine_roof(profile->roofs, profile->n_roofs, ROOF_COMPUTE, ceiling[i].isa,
					   p->precision, ceiling[i].op, "", 1);
		char number[TEXT_NUMBER], text[96];
		/* Not a ceiling of its own: the peak itself, or only measured on scalar code. */
		if (rate <= 0 || rate > 0.97 * model_peak(profile, p->precision, 1) ||
		    (!ceiling[i].isa && rate <= 1.03 * machine_roof(profile->roofs, profile->n_roofs,
			ROOF_COMPUTE, "scalar", p->precision, ceiling[i].op, "", 1)))
			continue;
		snprintf(text, sizeof(text), "%s %s", ceiling[i].text, text_number(number, rate));
		flat(p, rate, 1, text, "class=\"ceiling\" stroke=\"#bbbbbb\" stroke-dasharray=\"5 4\"",
		     "#888888");
	}
}

static void other_peaks(struct picture *p)
{
	static const char *const precisions[] = {"double", "single"};
	for (size_t i = 0; i < 2; i++) {
		bool used = false;
		for (size_t k = 0; k < p->n_points; k++)
			used |= !p->points[k].strip && strcmp(precisions[i], model_precision_name(
							p->points[k].function->precision)) == 0;
		if (used && strcmp(precisions[i], p->precision) != 0)
			peak_line(p, precisions[i], 1, false);
	}
}

/* Keeps the lines of one thread's roofs free. */
static void keep_slopes_free(struct picture *p)
{
	const char *levels[MODEL_LEVELS];
	size_t n = model_levels(p->view->profile, levels);
	double peak = model_peak(p->view->profile, p->precision, 1);
	for (size_t i = 0; i < n; i++) {
		double beta = bandwidth(p, levels[i], 1);
		for (double x = LEFT; beta > 0 && x < RIGHT; x += 8) {
			double rate = beta * p->x_min * pow(p->x_max / p->x_min, (x - LEFT) / (RIGHT - LEFT));
			if (rate > p->y_min && rate < peak)
				keep_free(p, x - 1, y_of(p, rate) - 1, x + 1, y_of(p, rate) + 1);
		}
	}
}

/* Labels of all threads' roofs, where they cross no line of one thread's; those lines are free for
 * the points' labels again afterwards. */
static void label_all_threads(struct picture *p)
{
	size_t before = p->n_obstacles;
	keep_slopes_free(p);
	size_t lines = p->n_obstacles - before;
	slopes(p, p->all_threads, true);
	memmove(p->obstacles + before, p->obstacles + before + lines,
		(p->n_obstacles - before - lines) * sizeof(*p->obstacles));
	p->n_obstacles -= lines;
}

/* One thread's roofs lie on top and get their labels first. */
static void roofs(struct picture *p)
{
	bool many = p->all_threads > 1;
	if (many)
		slopes(p, p->all_threads, false);
	slopes(p, 1, false);
	peak_line(p, p->precision, 1, true);
	if (many)
		peak_line(p, p->precision, p->all_threads, true);
	slopes(p, 1, true);
	if (many)
		label_all_threads(p);
	ceilings(p);
	other_peaks(p);
}

/* ---- points ---- */

static void point_position(const struct picture *p, size_t i, double *x, double *y)
{
	const struct model_function *f = p->points[i].function;
	if (p->points[i].strip) {
		double share = fmin(1, 1 / f->place.distance);
		*x = log_scale(share, p->strip_min, 1, LEFT, RIGHT);
		*y = (STRIP_TOP + STRIP_BOTTOM) / 2;
		return;
	}
	*x = isinf(f->intensity) ? RIGHT : x_of(p, f->intensity);
	*y = y_of(p, f->place.point);
}

/* Area, not radius, is time. */
static double radius(const struct picture *p, const struct model_function *f)
{
	double most = 0;
	for (size_t i = 0; i < p->n_points; i++)
		most = fmax(most, (double)p->points[i].function->time_ns);
	return 4 + 12 * sqrt((double)f->time_ns / most);
}

static void layout_labels(struct picture *p)
{
	for (size_t i = 0; i < p->n_points; i++) {
		struct label *label = &p->labels[i];
		bool strip = p->points[i].strip;
		point_position(p, i, &label->x, &label->y);
		label->radius = radius(p, p->points[i].function);
		label->width = (double)text_columns(p->points[i].name) * COLUMN_WIDTH;
		label->height = FONT + 3;
		label->frame = (struct box){LEFT + 3, strip ? STRIP_TOP + 3 : TOP + 3, RIGHT - 3,
					    strip ? STRIP_BOTTOM - 3 : BOTTOM - 3};
	}
	labels_place(p->labels, p->n_points, p->obstacles, p->n_obstacles);
}

static void write_title(FILE *out, const struct model_function *f)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], c[TEXT_NUMBER];
	char *name = text_clean(f->name);
	fputs("<title>", out);
	text_write_xml(out, name ? name : "");
	free(name);
	fprintf(out, "&#10;%s s of CPU time (%.1f %%)&#10;", text_number(a, (double)f->time_ns * 1e-9),
		100 * f->share);
	if (f->place.axis == AXIS_FLOP)
		fprintf(out, "%s GFLOP/s at %s flop/byte&#10;", text_number(b, f->place.point),
			text_number(c, f->intensity));
	if (f->place.roof > 0)
		fprintf(out, "%s× below its roof, %s bound%s%s", text_number(a, f->place.distance),
			model_bound_name(f->place.bound), f->place.level[0] ? " ~" : "", f->place.level);
	fputs("</title>", out);
}

static void draw_point(const struct picture *p, size_t i)
{
	const struct model_function *f = p->points[i].function;
	const struct label *label = &p->labels[i];
	fprintf(p->out, "<circle class=\"%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"%s\" "
		"fill-opacity=\"0.75\" stroke=\"%s\" data-name=\"",
		p->points[i].strip ? "point control" : "point", label->x, label->y, label->radius,
		svg_colour(f->place.bound), f->place.above ? FAULT : "#ffffff");
	text_write_xml(p->out, p->points[i].name);
	if (isfinite(f->intensity))
		fprintf(p->out, "\" data-intensity=\"%.9g", f->intensity);
	fprintf(p->out, "\" data-point=\"%.9g\" data-time-s=\"%.9g\">", f->place.point,
		(double)f->time_ns * 1e-9);
	write_title(p->out, f);
	fputs("</circle>\n", p->out);
}

/* A line from the point to a label that had to go further away. */
static void draw_leader(const struct picture *p, const struct label *label)
{
	double x = fmin(fmax(label->x, label->box.left), label->box.right);
	double y = fmin(fmax(label->y, label->box.top), label->box.bottom);
	if (hypot(x - label->x, y - label->y) > label->radius + 8)
		svg_line(p->out, label->x, label->y, x, y, "stroke=\"#999999\" stroke-width=\"0.8\"");
}

static void points(struct picture *p)
{
	layout_labels(p);
	for (size_t i = 0; i < p->n_points; i++)
		if (p->labels[i].placed)
			draw_leader(p, &p->labels[i]);
	for (size_t i = p->n_points; i-- > 0;) /* the first on top */
		draw_point(p, i);
	for (size_t i = 0; i < p->n_points; i++) {
		const struct label *label = &p->labels[i];
		if (!label->placed)
			continue;
		fprintf(p->out, "<text class=\"label halo\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
			(label->box.left + label->box.right) / 2, label->box.bottom - 4);
		text_write_xml(p->out, p->points[i].name);
		fputs("</text>\n", p->out);
	}
}

static void strip(struct picture *p)
{
	if (!p->n_strip)
		return;
	fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fafafa\" "
		"stroke=\"#888888\"/>\n", LEFT, STRIP_TOP, RIGHT - LEFT, STRIP_BOTTOM - STRIP_TOP);
	svg_text(p->out, LEFT, STRIP_TOP - 8, "font-size=\"13\"",
		"functions without flop, by their share of the bandwidth or issue roof");
	int first = (int)lround(log10(p->strip_min)), every = (-first + 5) / 6;
	for (int decade = first; decade <= 0; decade++) {
		char text[32];
		double x = log_scale(pow(10, decade), p->strip_min, 1, LEFT, RIGHT);
		svg_line(p->out, x, STRIP_TOP, x, STRIP_BOTTOM, "stroke=\"#dddddd\"");
		snprintf(text, sizeof(text), "%.10g %%", 100 * pow(10, decade));
		if ((decade - first) % every == 0)
			svg_text(p->out, x, STRIP_BOTTOM + 18, "text-anchor=\"middle\"", text);
	}
}

static bool collect_points(struct picture *p)
{
	const struct report_view *view = p->view;
	p->points = calloc(view->n_shown + 1, sizeof(*p->points));
	p->labels = calloc(view->n_shown + 1, sizeof(*p->labels));
	if (!p->points || !p->labels)
		return false;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		bool by_flop = f->place.axis == AXIS_FLOP;
		if (f->place.axis == AXIS_NONE || (!by_flop && !(f->place.roof > 0)))
			continue;
		char *clean = text_clean(f->name);
		char *name = clean ? text_shorten(clean, NAME_COLUMNS) : NULL;
		free(clean);
		p->points[p->n_points++] = (struct point){f, !by_flop, name};
		p->n_strip += !by_flop;
		if (!name)
			return false;
	}
	return true;
}

static int most_threads(const struct profile *profile)
{
	int most = 1;
	for (size_t i = 0; i < profile->n_roofs; i++)
		most = profile->roofs[i].threads > most ? profile->roofs[i].threads : most;
	return most;
}

static bool draw(struct picture *p)
{
	if (!collect_points(p))
		return false;
	choose_ranges(p);
	svg_head(p);
	axes(p);
	strip(p);
	roofs(p);
	points(p);
	svg_legend(p);
	fputs("</svg>\n", p->out);
	return true;
}

struct rf_error *report_svg(const struct report_view *view, FILE *stream)
{
	locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	struct picture *p = calloc(1, sizeof(*p));
	bool done = false;
	if (p) {
		p->view = view;
		p->out = stream;
		p->precision = report_main_precision(view->model);
		if (model_peak(view->profile, p->precision, 1) <= 0)
			p->precision = "double";
		p->all_threads = most_threads(view->profile);
		done = draw(p);
		for (size_t i = 0; i < p->n_points; i++)
			free(p->points[i].name);
		free(p->points);
		free(p->labels);
	}
	free(p);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	return done ? NULL : report_no_memory();
}
