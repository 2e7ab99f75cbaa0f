/* The points of one or several sweeps as series: lines of points that differ in the first parameter
 * alone. */
#pragma once

#include "machine/data/machine.h"
#include "sweep/results.h"

/* One point; NAN, and results with n 0, where something is not known. */
struct series_point {
	const char *label; /* the first parameter's value; of the space */
	double x;          /* the same as a number, else its place, from 1 */
	double work;       /* of --work-formula; NAN: the flop that were counted */
	double traffic;    /* of --traffic-formula, bytes */
	double size;       /* of --size-formula, bytes */
	struct sweep_result result;
	struct sweep_metrics metrics;
	double *times; /* of its repeats, s */
	size_t n_times;
};

struct series {
	char *name;
	struct series_point *points;
	size_t n;
};

/* What plots are asked for. */
struct plot_options {
	const char *work_formula, *traffic_formula, *size_formula; /* or NULL */
	bool per_cycle;
	bool left;  /* what is left in the caches at the end counts as written */
	bool joins; /* equal values of the first parameter, by dashes */
};

struct gathered {
	struct series *series;
	size_t n, cap;
	char *parameter; /* the first one's name, or NULL: there is none, or they have several */
	bool numbers;    /* all its values are numbers */
	size_t sweeps;
};

/* Adds the series of a sweep; the sweep must live as long.  `file`: stands before their names, or
 * NULL.  RF_EINPUT: a formula cannot be computed. */
struct rf_error *gather(const struct sweep *sweep, struct store *store,
			const struct plot_options *options, const char *file, struct gathered *out);
void gathered_deinit(struct gathered *gathered);
