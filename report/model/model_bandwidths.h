/* The measured bandwidths of a profile: its levels, and which rates fit what a function moves. */
#pragma once

#include "report/model/model_roofs.h"

/* Levels whose roof of reading can be told from the next one's at some number of threads, from the
 * slowest (DRAM) to L1. */
size_t model_levels(const struct profile *profile, enum roof_level levels[MODEL_LEVELS]);
/* The most that any measured mix of reads and writes moves at a level (L1: in LS bytes), 1e9 bytes
 * per second; no function's bandwidth there is higher.  0: none was measured. */
double model_level_most(const struct profile *profile, enum roof_level level, double threads,
			enum traffic_direction direction);
/* The same of data that are all zeros, as far as such rows were measured; else 0. */
double model_level_zeros(const struct profile *profile, enum roof_level level, double threads);
/* What theory says of reading a level at a measured count of threads, 1e9 bytes per second; of DRAM
 * it is what the modules move, in whatever direction.  0: not known. */
double model_level_theory(const struct profile *profile, enum roof_level level, int threads);
/* One bandwidth that may be a function's: its data on this level, its stores done so. */
struct model_bandwidth {
	enum roof_level level;
	const char *stores; /* as in struct model_place */
	struct model_rate rate;
};
#define MODEL_BANDWIDTHS (2 * MODEL_LEVELS)
/* The bandwidths for a function's own bytes, from the slowest level upward; the last is the
 * fastest. */
size_t model_bandwidths(const struct profile *profile, const struct tally *tally, double threads,
			struct model_bandwidth out[MODEL_BANDWIDTHS]);

/* How the bytes that move at a level are made up; shares of all of them. */
struct model_moves {
	double written; /* write-backs and non-temporal stores; NAN: not known, the fastest mix then
			 */
	double non_temporal;
	double strings;                   /* of the LS bytes: by repeated string instructions */
	enum traffic_direction direction; /* one of them alone: its bytes by its fastest kernel */
};
/* The most that can move at a level (L1: LS bytes), 1e9 bytes per second; 0 where no row tells it
 * from the level below.  Roofs are measured in LS bytes; docs/profile-format.md says how they are
 * converted. */
struct model_rate model_level_rate(const struct profile *profile, enum roof_level level,
				   const struct tally *tally, double threads,
				   const struct model_moves *moves);

/* The same of a function's bytes at one of its levels. */
struct model_rate model_rate_at(const struct profile *profile,
				const struct model_function *function,
				const struct model_level *level, enum traffic_direction direction);
