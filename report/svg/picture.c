/* The picture while it is drawn: where things stand, in which colours, and its lines and texts. */
#include "report/svg/picture.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

/* ---- places ---- */

static double log_scale(double value, struct range range, double from, double to)
{
	assert(range.low > 0 && range.low < range.high);
	double t = (log10(value) - log10(range.low)) / (log10(range.high) - log10(range.low));
	return from + fmin(fmax(t, 0), 1) * (to - from);
}

double svg_x(const struct picture *p, double intensity)
{
	return log_scale(intensity, p->x, LEFT, RIGHT);
}

double svg_y(const struct picture *p, double rate)
{
	return log_scale(rate, p->y, BOTTOM, TOP);
}

double svg_strip_x(const struct picture *p, double share)
{
	return log_scale(share, p->strip, LEFT, RIGHT);
}

void svg_widen(struct range *range, double value)
{
	if (!(value > 0) || !isfinite(value))
		return;
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

double svg_highest_point(const struct picture *p)
{
	double most = 0;
	for (size_t i = 0; i < p->n_points; i++)
		if (!p->points[i].strip)
			most = fmax(most, p->points[i].function->place.point);
	return most;
}

void svg_position(const struct picture *p, const struct model_function *f, bool strip, double *x,
		  double *y)
{
	if (strip) {
		*x = svg_strip_x(p, 1 / f->place.distance);
		*y = (STRIP_TOP + STRIP_BOTTOM) / 2;
		return;
	}
	*x = isinf(report_intensity_at(f, p->level)) ? RIGHT
						     : svg_x(p, report_intensity_at(f, p->level));
	*y = svg_y(p, f->place.point);
}

/* ---- what is drawn ---- */

/* Okabe and Ito's colours, told apart with any kind of colour vision. */
static const char *const colours[] = {
	[BOUND_UNKNOWN] = "#777777", [BOUND_UNCOUNTED] = "#777777", [BOUND_MEMORY] = "#0072b2",
	[BOUND_COMPUTE] = "#d55e00", [BOUND_BALANCED] = "#009e73",  [BOUND_ISSUE] = "#e69f00",
	[BOUND_LATENCY] = "#cc79a7", [BOUND_WAITING] = "#777777",   [BOUND_KERNEL] = "#777777",
};

const char *svg_colour(enum model_bound bound)
{
	return colours[bound];
}

void svg_text(const struct picture *p, double x, double y, const char *attributes,
	      const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	text_write_xml(p->out, text ? text : "");
	fputs("</text>\n", p->out);
	free(text);
}

void svg_line(const struct picture *p, double x1, double y1, double x2, double y2,
	      const char *attributes)
{
	fprintf(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
		y2, attributes);
}
