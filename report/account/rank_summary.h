/* How ranks that were merged differ, and what part of their time MPI has. */
#pragma once

#include "profile/profile.h"

/* A figure of each rank or node: least, mean and most, and whose they are. */
struct rank_spread {
	double least, mean, most;
	uint32_t least_of, most_of; /* rows of ranks, or of rank_nodes */
	double imbalance; /* 1 - mean / most: the part of the slowest one's time for which the mean
			     one waits */
};

struct rank_summary {
	struct rank_spread busy;  /* s: on processors, but for waiting in MPI */
	struct rank_spread nodes; /* the same: mean of the ranks of a node */
	double lives_s;           /* of all ranks, by the clock */
	double mpi_s, waiting_s, copying_s, other_s;
	double counted_flop, counted_instructions;
	size_t n_counted, n_once, n_failed; /* ranks; failed: with another exit status than 0 */
};

/* Time of a rank on processors without waiting in MPI, s. */
double rank_busy_s(const struct profile_rank *rank);
/* Of a profile with ranks.  RF no memory only. */
struct rf_error *rank_summary_make(const struct profile *profile, struct rank_summary *summary);
