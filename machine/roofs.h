/* Measures the rows of the roof table. */
#pragma once

#include "machine/machine.h"
#include "machine/measure.h"
#include "machine/team.h"
#include "machine/topology.h"

/* A session of measuring: what it is told, and the rows and notes that it makes. */
struct roofs_run {
	const struct topology *topology;
	const struct measure_effort *effort;
	uint64_t started_ns;
	const struct machine_options *options;	/* progress */
	int step, n_steps;

	struct roof *roofs;
	size_t n_roofs, cap_roofs;
	char **notes;
	size_t n_notes, cap_notes;
	struct arena *arenas;	/* of the bandwidth kernels, one a thread; see roofs_bandwidth.c */
};

/* Measures the clock and all rows at each thread count.  On failure nothing is left allocated. */
struct rf_error *roofs_measure(const struct topology *topology, const struct measure_effort *effort,
			       const struct machine_options *options, struct machine *machine);

/* Number of progress steps, and the measuring itself, with one team. */
int roofs_compute_steps(void);
struct rf_error *roofs_compute(struct roofs_run *run, struct team *team);
int roofs_bandwidth_steps(const struct topology *topology);
struct rf_error *roofs_bandwidth(struct roofs_run *run, struct team *team);
void roofs_bandwidth_deinit(struct roofs_run *run);

/* Bytes that each of the first `n_threads` threads walks through to measure a cache level (1 to
 * 3), all arrays together; 0 when there is no such cache. */
uint64_t roofs_level_bytes(const struct topology *topology, int level, int n_threads);
/* The same for DRAM: 4 times the last-level caches, at least 64 MiB, over the threads. */
uint64_t roofs_dram_bytes(const struct topology *topology, int n_threads);

/* Clears `distinguishable` of the bandwidth rows that are not at least 15 % above the same
 * operation, at the same thread count, in the next level that was measured. */
void roofs_mark_levels(struct roof *roofs, size_t n_roofs);

/* Used by the two measurers: the effort for the next row … */
struct measure_effort roofs_effort(const struct roofs_run *run);
/* … and the rows. */
struct rf_error *roofs_add(struct roofs_run *run, const struct roof *roof);
/* Keeps a note, once. */
struct rf_error *roofs_note(struct roofs_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void roofs_progress(struct roofs_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
