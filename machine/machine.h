/* The machine and its measured roofs. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum roof_kind { ROOF_COMPUTE, ROOF_BANDWIDTH };

/* One roof: more roofs are more rows. */
struct roof {
	enum roof_kind kind;
	char isa[16];		/* compute: "scalar", "sse2", "avx2", "avx512f"; bandwidth: what the
				 * kernel uses */
	char precision[16];	/* "double", "single"; "" for bandwidth */
	char op[16];		/* "fma", "add", "mul"; "read", "triad" */
	char level[8];		/* "L1", "L2", "L3", "DRAM"; "" for compute */
	int threads;
	double best, median, q1, q3; /* in `unit` */
	char unit[16];		/* "GFLOP/s" (1e9 flop/s), "GB/s" (1e9 bytes/s) */
	char bytes_convention[64]; /* bandwidth: what counts as a byte moved */
	bool distinguishable;	/* false: this level cannot be told from the next, do not draw */
};

struct machine_cache { int level; uint64_t size_bytes; uint64_t line_bytes; int ways; int shared_by; };

struct machine {
	char *cpu_model;
	int usable_threads;	/* hardware threads inside the affinity mask and cgroup quota */
	double clock_ghz;	/* measured with a dependent add loop */
	struct machine_cache caches[8];
	size_t n_caches;
	struct roof *roofs;
	size_t n_roofs;
	bool from_cache;	/* read from the cache file instead of measured now */
	char **notes;		/* what could not be measured as it should, one line each */
	size_t n_notes;
};

struct machine_options {
	bool refresh;		/* measure although a valid cache file is there */
	/* Called with a short text while measuring; NULL: silent. */
	void (*progress)(void *context, const char *what, int step, int n_steps);
	void *progress_context;
};

/* Reads the roofs of this machine from $XDG_CACHE_HOME/rfprof (or ~/.cache/rfprof), or measures
 * and saves them.  A cache that cannot be written is not an error; *warning (may be NULL) then
 * gets an error object that the caller prints and destroys. */
struct rf_error *machine_get(const struct machine_options *options, struct machine *machine,
			     struct rf_error **warning);
void machine_deinit(struct machine *machine);

/* Finds the best row for (kind, precision, op, level, threads); isa NULL: the fastest of all.
 * Between measured thread counts the value is interpolated linearly.  Returns the value in `unit`
 * of the row (GFLOP/s or GB/s), or 0 when there is no such row.  `threads` may be fractional. */
double machine_roof(const struct roof *roofs, size_t n_roofs, enum roof_kind kind, const char *isa,
		    const char *precision, const char *op, const char *level, double threads);
