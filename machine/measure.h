/* Rates by repeated timing: many short repeats, so that the best is free of what else the machine
 * does, and the quartiles show how noisy it was. */
#pragma once

#include "base/error.h"
#include "machine/team.h"

#include <stdint.h>

/* How long to measure. */
struct measure_effort {
	uint64_t repeat_ns;	/* shortest time of one repeat */
	int search_repeats;	/* of each candidate, to find the best */
	int repeats;		/* of the best candidate */
	int max_batches;	/* of `repeats` each, while the quartiles are 5 % or more apart */
	uint64_t calm_ns;	/* after this time of a session noisy rows get no second batch,
				 * after twice this time there are half as many repeats */
};

/* Finds every roof of two hardware threads in about 3 s. */
extern const struct measure_effort measure_effort_default;

/* Something to be timed. */
struct measure_task {
	/* Does the work `count` times on one thread of the team. */
	void (*run)(void *context, int thread, uint64_t count);
	void *context;
	double work;		/* of one count on one thread: flop, bytes, cycles */
};

/* In 1e9 units of work a second, by all threads of the team together. */
struct measure_rate { double best, median, q1, q3; };

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t measure_now_ns(void);

/* Best (highest), median and quartiles of `n` > 0 samples, which get sorted.  Quartiles by linear
 * interpolation between order statistics (Hyndman & Fan 1996, definition 7). */
struct measure_rate measure_summary(double *samples, size_t n);

/* Times all candidates, round after round so that a disturbance meets each of them, then the
 * fastest at length.  One sample is the work of all threads over the time from the first start to
 * the last end.  *best is the index of the fastest; its search samples count too. */
struct rf_error *measure_fastest(struct team *team, const struct measure_task *candidates,
				 size_t n_candidates, const struct measure_effort *effort,
				 struct measure_rate *rate, size_t *best);
