/* The picture while it is drawn: shared by svg.c (frame and points), svg_roofs.c and
 * svg_legend.c. */
#pragma once

#include "report/model/model_bandwidths.h"
#include "report/rows/view.h"
#include "report/svg/svg_labels.h"

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
#define MAX_OBSTACLES 4096
#define MAX_LINES 96
/* Of roofs that are stated; no bound's points have it. */
#define CUSTOM_COLOUR "#6a3d9a"
#define CUSTOM_STROKE "stroke-width=\"1.6\" stroke-dasharray=\"9 4\""

struct point {
	const struct model_function *function;
	bool strip; /* no flop: in the strip below the plot */
	char *name; /* shortened, clean */
};

/* Whose label is placed first. */
enum label_turn {
	TURN_MAIN_PEAK,
	TURN_FEW_SLOPE,
	TURN_OTHER_PEAK,
	TURN_ALL_SLOPE,
	TURN_CUSTOM,
	TURN_CEILING,
	TURNS
};

/* A roof as it is drawn, from left to right, pixels. */
struct roof_line {
	double x1, y1, x2, y2;
	bool rising;                      /* a bandwidth */
	const struct custom_roof *custom; /* or NULL: measured */
	char text[192];
	const char *colour; /* of the text */
	enum label_turn turn;
	bool labelled; /* there was room for the text */
};

struct picture {
	const struct report_view *view;
	FILE *out;
	double x_min, x_max, y_min, y_max; /* flop/byte, GFLOP/s */
	double strip_min;                  /* least share of a roof in the strip */
	const char *level; /* whose traffic the points are placed by; NULL: LS bytes */
	enum roof_precision precision;
	int few_threads, all_threads; /* of the roofs that are drawn */
	struct point *points;
	struct label *labels;
	size_t n_points;
	size_t n_strip;
	struct box obstacles[MAX_OBSTACLES];
	size_t n_obstacles;
	struct roof_line lines[MAX_LINES];
	size_t n_lines;
};

/* Pixels of an intensity, of a rate; what lies outside stands at the edge. */
double svg_x(const struct picture *p, double intensity);
double svg_y(const struct picture *p, double rate);
/* Where a function stands: flop per byte at the picture's level. */
double svg_intensity(const struct picture *p, const struct model_function *f);
/* Where it stands, in pixels; strip: among those without flop. */
void svg_position(const struct picture *p, const struct model_function *f, bool strip, double *x,
		  double *y);
/* svg_diff.c: A's points of a comparison, and the arrows from them; nothing for one profile alone.
 */
void svg_diff_widen(const struct picture *p, double *x_low, double *x_high, double *y_low,
		    double *y_high);
void svg_diff(const struct picture *p);
/* The levels whose bandwidths are drawn, as model_levels gives them. */
size_t svg_levels(const struct picture *p, enum roof_level levels[MODEL_LEVELS]);
/* Moves the ends of a range so that a value > 0 lies inside. */
void svg_widen(double *low, double *high, double value);
/* Widens the ranges for all roofs; draws them and their labels, whose places become obstacles. */
void svg_roofs_widen(const struct picture *p, double *x_low, double *x_high, double *y_low,
		     double *y_high);
void svg_roofs(struct picture *p);
/* False for a custom roof so far from this machine's that the picture would show nothing else. */
bool svg_custom_is_drawn(const struct picture *p, const struct custom_roof *roof);

/* Colour of a bound's points. */
const char *svg_colour(enum model_bound bound);
void svg_text(FILE *out, double x, double y, const char *attributes, const char *text);
void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *attributes);
/* The opening tag, title and style; what stands right of the plot. */
void svg_head(const struct picture *p);
void svg_legend(const struct picture *p);
