/* A picture of series of points over two axes, whatever they count: rooflines of sweeps, time by
 * size.  chart_svg.c and chart_text.c draw it. */
#pragma once

#include "base/error.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* In the units of the axes.  What is not known is NAN; an x of INFINITY stands at the right edge.
 */
struct chart_point {
	double x, y;
	double x_q1, x_q3;      /* the box: quartiles */
	double y_q1, y_q3;      /* the same */
	double y_least, y_most; /* whiskers */
	const char *label;      /* or NULL; not owned */
	const char *join; /* points of several series with the same text are joined by dashes; or
			   * NULL; not owned */
};

struct chart_series {
	char *name; /* owned, as the points are */
	struct chart_point *points;
	size_t n, cap;
	bool scattered; /* its points are not connected */
};

enum chart_line_kind {
	CHART_LEVEL,   /* y = value */
	CHART_SLOPE,   /* y = value × x */
	CHART_UPRIGHT, /* x = value */
};
/* What points are compared with. */
struct chart_line {
	enum chart_line_kind kind;
	double value;
	double from, to; /* in x; to the edges where they are NAN */
	bool pale, dashed;
	char text[96];
};
#define CHART_LINES 24

struct chart_axis {
	char title[128];
	bool log;         /* else linear */
	bool from_zero;   /* a linear one begins at 0 */
	double low, high; /* it reaches at least as far; NAN: as the points do */
};

struct chart {
	char title[160], subtitle[200];
	struct chart_axis x, y;
	struct chart_series *series;
	size_t n_series, cap_series;
	struct chart_line lines[CHART_LINES];
	size_t n_lines;
};

/* One without points. */
void chart_init(struct chart *chart);
void chart_deinit(struct chart *chart);
/* Adds a series of that name (copied); NULL: no memory. */
struct chart_series *chart_add_series(struct chart *chart, const char *name);
/* Adds a point at (x, y) with a label, of which nothing else is known; NULL: no memory. */
struct chart_point *chart_add_point(struct chart_series *series, double x, double y,
				    const char *label);
/* Adds a line over the whole width; what has no room (CHART_LINES) is left out.  NULL then. */
struct chart_line *chart_add_line(struct chart *chart, enum chart_line_kind kind, double value);

/* Whether a point can be seen: both values known, on a logarithmic axis above 0, y finite. */
bool chart_shows(const struct chart *chart, const struct chart_point *point);

/* An axis as it is drawn: round ends, and what is between them. */
struct chart_scale {
	double low, high;
	bool log;
};
#define CHART_TICKS 48
struct chart_tick {
	double value;
	bool named; /* it has room for its number */
};
struct chart_scale chart_x_scale(const struct chart *chart);
struct chart_scale chart_y_scale(const struct chart *chart);
/* Where a value is from 0 (low) to 1; beyond them at the ends. */
double chart_share(const struct chart_scale *scale, double value);
/* The value there. */
double chart_value(const struct chart_scale *scale, double share);
size_t chart_ticks(const struct chart_scale *scale, struct chart_tick ticks[CHART_TICKS]);
/* Of a line the part that is seen, on these scales: from (*x1, *y1) to (*x2, *y2).  False: none. */
bool chart_clip(const struct chart_line *line, const struct chart_scale *x,
		const struct chart_scale *y, double ends[4]);
