/* A sweep: points of a parameter space, each measured several times, as far as what is kept of
 * earlier sweeps does not have them. */
#pragma once

#include "sweep/measure.h"
#include "sweep/space.h"
#include "sweep/store.h"

struct sweep_options {
	struct measure_options measure;
	const char *environment; /* names of variables that results depend on, or NULL */
	const char *path;        /* of the file */
	size_t repeats;          /* of each point at least */
	size_t traced;           /* of these, the first ones: with their memory traffic */
	double budget_s;         /* what more repeats may take, with these; 0: there are no more */
	bool quiet;
};

struct sweep_point {
	char **command;
	char *identity;       /* NULL: of a sweep that is only shown */
	int64_t id;           /* its row then; 0: it was not measured */
	size_t n_kept, n_new; /* repeats */
	double longest_s;     /* that a repeat has taken; 0: none was made */
	size_t n_replaced;    /* runs that were no repeats, since the program was replaced */
	bool failed;
};

struct sweep {
	const struct sweep_options *options;
	struct space space;
	struct sweep_point *points;
	char **kernels; /* NULL at the end */
	/* of one that is only shown */
	char *text;
	const char **words;
};

/* `words` as in space_init.  To be freed by sweep_deinit, after an error, too. */
struct rf_error *sweep_init(struct sweep *sweep, const struct sweep_options *options,
			    const char **words);
void sweep_deinit(struct sweep *sweep);
/* The sweep that a file has, to be shown, not measured; *machine (JSON) is to be freed.  To be
 * freed by sweep_deinit, after an error, too. */
struct rf_error *sweep_open(struct sweep *sweep, const struct sweep_options *options,
			    struct store *store, char **machine);
/* Makes it the sweep that its file has; `words` as for sweep_init, `machine` as JSON. */
struct rf_error *sweep_keep(const struct sweep *sweep, struct store *store, const char **words,
			    const char *machine);

/* Finds out what is kept; what programs have changed since is forgotten where `store` is written
 * to.  `store` may be NULL. */
struct rf_error *sweep_look(struct sweep *sweep, struct store *store, bool forgets);
/* Measures what is missing.  A program that fails at a point is told of on standard error, and that
 * point is left out.  *interrupted: the signal that has ended the sweep, or 0. */
struct rf_error *sweep_run(struct sweep *sweep, struct store *store, int *interrupted);
