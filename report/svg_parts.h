/* The picture while it is drawn: shared by svg.c (roofs and points) and svg_legend.c. */
#pragma once

#include "report/report_parts.h"
#include "report/svg_labels.h"

#define WIDTH 1040.0
#define LEFT 78.0
#define RIGHT 810.0
#define TOP 62.0
#define BOTTOM 580.0
#define STRIP_TOP 664.0
#define STRIP_BOTTOM 772.0
#define LEGEND 834.0
#define FONT 12.0
/* Generous: labels are kept apart for the widest fonts that a viewer may take. */
#define COLUMN_WIDTH (FONT * 0.6)
#define NAME_COLUMNS 30
#define MAX_OBSTACLES 1024

struct point {
	const struct model_function *function;
	bool strip;		/* no flop: in the strip below the plot */
	char *name;		/* shortened, clean */
};

struct picture {
	const struct report_view *view;
	FILE *out;
	double x_min, x_max, y_min, y_max; /* flop/byte, GFLOP/s */
	double strip_min;	/* least share of a roof in the strip */
	const char *precision;
	int all_threads;
	struct point *points;
	struct label *labels;
	size_t n_points;
	size_t n_strip;
	struct box obstacles[MAX_OBSTACLES];
	size_t n_obstacles;
};

/* Colour of a bound's points. */
const char *svg_colour(enum model_bound bound);
void svg_text(FILE *out, double x, double y, const char *attributes, const char *text);
void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *attributes);
/* The opening tag, title and style; what stands right of the plot. */
void svg_head(const struct picture *p);
void svg_legend(const struct picture *p);
