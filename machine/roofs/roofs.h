/* Measures the rows of the roof table. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"
#include "machine/topology/topology.h"

/* How long to measure: see docs/roofs.md. */
struct roofs_effort {
	uint64_t repeat_ns; /* while the fastest candidate of a row is sought */
	int search_rounds;  /* over the candidates */
	/* Of the fastest candidate, in each visit; each is `stretch` times as long as when it was
	 * sought, because the clock and memory that others use too waver within milliseconds, and a
	 * roof is what lasts. */
	int repeats, stretch;
	int extra_rounds;   /* of visits to noisy rows, at most */
	uint64_t budget_ns; /* for two thread counts; visits after the first of each row end then */
};
/* All rows within 20 s on two hardware threads; the rows that reports use within 4 s. */
extern const struct roofs_effort roofs_effort_full, roofs_effort_quick;

/* What to measure. */
struct roofs_wish {
	const int *counts; /* thread counts, ascending, not more than usable_threads */
	size_t n_counts;
	bool quick; /* only the rows that reports use */
	struct roofs_effort effort;
	/* For a few rows alone (NULL: all): which, and how much memory each thread needs for them;
	 * NUMA nodes are left out. */
	bool (*wants)(const void *context, const struct roof *row);
	const void *wants_context;
	size_t most_bytes;
	uint64_t touch_ns; /* for touching it; 0: 1 s */
	/* See struct machine_options. */
	void (*progress)(void *context, const char *what, int step, int n_steps);
	void *progress_context;
};

/* Measures the clock and all wished rows; sets clock_*, counts, roofs, notes and microarchitecture
 * of *machine.  On failure nothing is left allocated. */
struct rf_error *roofs_measure(const struct topology *topology, const struct roofs_wish *wish,
			       struct machine *machine);

/* Clears `distinguishable` of the bandwidth rows that are not at least 15 % above the same
 * operation, at the same thread count, in the next level that was measured; and of the rows of
 * zeros that are not so far above the same with other data. */
void roofs_mark_levels(struct roof *roofs, size_t n_roofs);

/* `walk`: a chase of one thread through at least as many bytes as that of `row`, which gets its
 * rates where they are higher.  Fewer bytes are never slower; only other load on the machine, which
 * comes and goes, makes a chase slower. */
void roofs_raise_chase(struct roof *row, const struct roof *walk);

/* For what measures a few rows alone (roofs_again.h): plans the jobs of all phases at the sites of
 * the run; frees jobs, sites and notes. */
struct roofs_run;
struct rf_error *roofs_plan(struct roofs_run *run);
void roofs_run_deinit(struct roofs_run *run);
