/* Rates by repeated timing: many short repeats, so that the best is free of what else the machine
 * does, and the quartiles show how noisy it was. */
#pragma once

#include "base/error.h"
#include "machine/data/roof_terms.h"
#include "machine/roofs/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time of one repeat unless the caller needs another: long against the timer's resolution and the
 * start of the threads, short against the spells in which other programs take the CPU. */
#define MEASURE_REPEAT_NS 250000

/* Something to be timed. */
struct measure_task {
	/* Does the work `count` times on one thread of the team. */
	void (*run)(void *context, int thread, uint64_t count);
	void *context;
	double work;       /* of one count on one thread: flop, bytes, cycles */
	bool with_clock;   /* measure the clock right behind each repeat */
	enum roof_isa isa; /* what the task is made of, for the caller */
};

/* In 1e9 units of work a second, by all threads of the team together. */
struct measure_rate {
	double best, median, q1, q3;
};

/* The repeats of the fastest of several candidate tasks; zero-initialised before the search. */
struct measure_series {
	size_t best;    /* index of the fastest candidate */
	uint64_t count; /* its work in one repeat */
	double *rates;  /* one a repeat, 1e9 units a second */
	size_t n_rates, cap_rates;
	double highest;   /* of the rates */
	double clock_ghz; /* beside the highest, mean over the threads; 0: not measured */
};

/* Best (highest), median and quartiles of `n` > 0 rates, which get sorted (statistics/summary.h).
 */
struct measure_rate measure_summary(double *rates, size_t n);

/* Finds the fastest of `n` > 0 candidates and the count of it that takes about `repeat_ns`: times
 * all of them `rounds` times, round after round so that a disturbance meets each.  One rate is the
 * work of all threads over the time from the first start to the last end. */
struct rf_error *measure_search(struct team *team, const struct measure_task *candidates, size_t n,
				uint64_t repeat_ns, int rounds, struct measure_series *series);

/* Adds `n` repeats of `task`, the fastest of a search. */
struct rf_error *measure_repeats(struct team *team, const struct measure_task *task, int n,
				 struct measure_series *series);

void measure_series_deinit(struct measure_series *series);

/* Measures the clock of the cores with a chain of dependent adds (one cycle each) for about 10 ms:
 * 1e9 cycles a second, the mean over the team's threads; *fp_ghz while the widest vectors multiply
 * and add.  Each is raised where the highest rate seen is above it. */
struct rf_error *measure_clocks(struct team *team, double *ghz, double *fp_ghz);
