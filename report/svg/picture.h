/* The picture while it is drawn: where things stand, in which colours, and its lines and texts. */
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
/* Of what is computed from documents. */
#define THEORY_COLOUR "#666666"
#define THEORY_STROKE "stroke=\"#888888\" stroke-width=\"1\" stroke-dasharray=\"1.5 3\""

struct point {
	const struct model_function *function;
	bool strip; /* no flop: in the strip below the plot */
	char *name; /* shortened, clean */
};

/* Whose label is placed first. */
enum label_turn {
	TURN_MAIN_PEAK,
	TURN_OWN_SLOPE,
	TURN_OTHER_PEAK,
	TURN_OTHER_SLOPE,
	TURN_CUSTOM,
	TURN_CEILING,
	TURN_THEORY,
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

struct range {
	double low, high;
};

struct picture {
	const struct report_view *view;
	FILE *out;
	struct range x, y;  /* flop/byte, GFLOP/s */
	struct range strip; /* shares of a roof in the strip */
	const char *level;  /* whose traffic the points are placed by; NULL: LS bytes */
	enum roof_precision precision;
	/* of the roofs that are drawn: those of the report, and pale the most that were measured
	 * or, where these are the same, the fewest */
	int threads, other_threads;
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
/* Of a share of a roof, in the strip below the plot. */
double svg_strip_x(const struct picture *p, double share);
/* Where it stands, in pixels; strip: among those without flop. */
void svg_position(const struct picture *p, const struct model_function *f, bool strip, double *x,
		  double *y);
/* The highest rate of the points with flop; 0: there are none. */
double svg_highest_point(const struct picture *p);
/* Moves the ends of a range so that a value > 0 lies inside. */
void svg_widen(struct range *range, double value);

/* Colour of a bound's points. */
const char *svg_colour(enum model_bound bound);
/* The texts need not be clean. */
void svg_text(const struct picture *p, double x, double y, const char *attributes,
	      const char *format, ...) __attribute__((format(printf, 5, 6)));
void svg_line(const struct picture *p, double x1, double y1, double x2, double y2,
	      const char *attributes);
