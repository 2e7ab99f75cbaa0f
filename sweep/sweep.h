/* A sweep: points of a parameter space, each measured several times, as far as what is kept of
 * earlier sweeps does not have them. */
#pragma once

#include "statistics/summary.h"
#include "sweep/measure.h"
#include "sweep/space.h"
#include "sweep/store.h"

struct sweep_options {
	struct measure_options measure;
	const char *environment; /* names of variables that results depend on, or NULL */
	const char *path;        /* of the file */
	size_t repeats;          /* of each point at least */
	double budget_s;         /* what more repeats may take, with these; 0: there are no more */
	bool quiet;
};

struct sweep_point {
	char **command;
	char *identity;
	size_t n_kept, n_new; /* repeats */
	double longest_s;     /* that a repeat has taken; 0: none was made */
	bool failed;
};

struct sweep {
	const struct sweep_options *options;
	struct space space;
	struct sweep_point *points;
	char **kernels; /* NULL at the end */
};

/* `words` as in space_init.  To be freed by sweep_deinit, after an error, too. */
struct rf_error *sweep_init(struct sweep *sweep, const struct sweep_options *options,
			    const char **words);
void sweep_deinit(struct sweep *sweep);

/* Finds out what is kept; what programs have changed since is forgotten where `store` is written
 * to.  `store` may be NULL. */
struct rf_error *sweep_look(struct sweep *sweep, struct store *store, bool forgets);
/* Measures what is missing.  A program that fails at a point is told of on standard error, and that
 * point is left out.  *interrupted: a program was ended by a signal, and the sweep with it. */
struct rf_error *sweep_run(struct sweep *sweep, struct store *store, bool *interrupted);

/* The results of a point for a kernel, by call; those that are not known have n 0. */
enum sweep_quantity {
	SWEEP_TIME,
	SWEEP_FLOP,
	SWEEP_LOADED,
	SWEEP_STORED,
	SWEEP_READ,
	SWEEP_WRITTEN,
	N_SWEEP_QUANTITIES
};
struct sweep_result {
	size_t repeats;
	double calls; /* in the mean */
	struct {
		size_t n;
		struct summary per_call;
	} of[N_SWEEP_QUANTITIES];
};
struct rf_error *sweep_result(const struct sweep *sweep, struct store *store, size_t point,
			      const char *kernel, struct sweep_result *out);
