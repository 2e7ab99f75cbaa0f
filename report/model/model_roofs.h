/* The measured roofs of a profile: the rate of a roof at any number of threads, and which roofs fit
 * what a function does. */
#pragma once

#include "machine/data/machine.h"
#include "report/model/model.h"

struct model_rate {
	double value;             /* 1e9 flop or bytes per second; 0: not measured */
	const struct roof *noisy; /* a row behind it whose spread is wide, or NULL */
};

/* ---- of the machine ---- */

/* machine_roof() of the profile's roofs, by its index. */
double model_roof(const struct profile *profile, struct roof_key key, double threads);
/* The roofs' name of a precision. */
enum roof_precision model_roof_precision(enum flop_precision precision);
/* Levels with a bandwidth roof that can be told apart, from the slowest (DRAM) to L1. */
size_t model_levels(const struct profile *profile, enum roof_level levels[MODEL_LEVELS]);
/* The most that any measured mix of reads and writes moves at a level (L1: in LS bytes), 1e9 bytes
 * per second; no function's bandwidth there is higher.  0: none was measured. */
double model_level_most(const struct profile *profile, enum roof_level level, double threads,
			enum traffic_direction direction);
/* Peak of a precision at `threads`, GFLOP/s, by what one kind of instruction reaches alone (FMA,
 * dot product, add, multiply); 0: none. */
double model_peak(const struct profile *profile, enum roof_precision precision, double threads);
/* Its row at a measured count of threads, or NULL. */
const struct roof *model_peak_row(const struct profile *profile, enum roof_precision precision,
				  int threads);

/* ---- of a function ---- */

/* What a function's mix of precisions, additions and multiplications reaches at most; *borrowed
 * gets the precision that stands in for its own, if one does. */
struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    const char **borrowed);
/* The same on scalar rows alone, in the function's main precision. */
double model_scalar_top(const struct profile *profile, const struct model_function *function);
/* What its widths and kinds of instructions reach at most; not above `top`. */
double model_mix_ceiling(const struct profile *profile, const struct model_function *function,
			 double top);

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

/* Of a function's bytes at one of its levels. */
struct model_moves model_moves_of(const struct model_function *function,
				  const struct model_level *level,
				  enum traffic_direction direction);
