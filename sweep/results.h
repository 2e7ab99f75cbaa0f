/* What the repeats of a point have found, summed up. */
#pragma once

#include "statistics/summary.h"
#include "sweep/sweep.h"

/* By call. */
enum sweep_quantity {
	SWEEP_TIME,
	SWEEP_FLOP,
	SWEEP_LOADED,
	SWEEP_STORED,
	SWEEP_READ,
	SWEEP_WRITTEN,
	SWEEP_MOVED, /* read and written */
	SWEEP_INSTRUCTIONS,
	N_SWEEP_QUANTITIES
};
struct sweep_result {
	size_t repeats;
	double calls;       /* in the mean */
	size_t times_calls; /* times are those of so many calls; 0: of repeats, in the mean of calls
			     */
	struct {
		size_t n; /* 0: it is not known */
		struct summary per_call;
	} of[N_SWEEP_QUANTITIES];
};

/* The results of a point for a kernel. */
struct rf_error *sweep_result(const struct sweep *sweep, struct store *store, size_t point,
			      const char *kernel, struct sweep_result *out);
/* The times of its repeats, by call in their mean; *times is to be freed. */
struct rf_error *sweep_times(const struct sweep *sweep, struct store *store, size_t point,
			     const char *kernel, double **times, size_t *n);

/* Of the traced repeat, of all its calls; NAN: not known. */
struct sweep_metrics {
	double fp_instructions, load_instructions, store_instructions, single_flop, l2_bytes,
		l3_bytes, l1_miss_ratio, l2_miss_ratio, l3_miss_ratio,
		mem_left_bytes; /* changed, and still in a cache at the end */
	/* of the simulated TLB; in another machine's caches, of lines into and out of L2 (with what
	 * its L1 writes through), and those from and to memory */
	double page_accesses, tlb_near_misses, page_walks, other_l2_bytes, other_mem_read,
		other_mem_written;
};
struct rf_error *sweep_metrics(const struct sweep *sweep, struct store *store, size_t point,
			       const char *kernel, struct sweep_metrics *out);
