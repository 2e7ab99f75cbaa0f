/* The measured roofs of a profile: the rate of a roof at any number of threads and along mixes of
 * reads and writes, and the best of each precision.  model_mix.h says what fits a function's work.
 */
#pragma once

#include "machine/data/machine.h"
#include "profile/roof_index.h"
#include "report/model/model.h"

struct model_rate {
	double value;             /* 1e9 flop or bytes per second; 0: not measured */
	const struct roof *noisy; /* a row behind it whose spread is wide, or NULL */
};

/* ---- rates along mixes ---- */

/* Rows that one function may use. */
struct roof_rows {
	const struct profile *profile;
	struct roof_key key; /* but for the operation */
	double threads;
};

/* Measured mixes along an axis, ascending; ROOF_OP_NONE ends them.  `factor`: what a rate counts
 * for; 0: 1. */
#define ROOF_CURVE 5
struct roof_mix {
	double at;
	enum roof_op op;
	double factor;
};

/* The rate of an operation; 0: not measured. */
double model_rate_of(const struct roof_rows *rows, enum roof_op op);
struct model_rate model_take(const struct roof_rows *rows, enum roof_op op);
/* Linear between the mixes that were measured, constant beyond them; value 0: none was. */
struct model_rate model_on_curve(const struct roof_rows *rows, const struct roof_mix *curve,
				 double x);

/* ---- of the machine ---- */

/* The roofs of the profile that may be of a key. */
struct roof_run model_roof_run(const struct profile *profile, struct roof_key key);

/* machine_roof() of the profile's roofs, by its index. */
double model_roof(const struct profile *profile, struct roof_key key, double threads);
/* The roofs' name of a precision. */
enum roof_precision model_roof_precision(enum flop_precision precision);
/* Peak of a precision at `threads`, GFLOP/s, by what one kind of instruction reaches alone (FMA,
 * dot product, add, multiply); 0: none. */
double model_peak(const struct profile *profile, enum roof_precision precision, double threads);
/* Its row at a measured count of threads, or NULL. */
const struct roof *model_peak_row(const struct profile *profile, enum roof_precision precision,
				  int threads);
/* The most that any measured code of a precision reaches at `threads`, mixes of instructions as
 * well: no roof of compute is above it, GFLOP/s; 0: none was measured. */
double model_best(const struct profile *profile, enum roof_precision precision, double threads);

/* ---- lines that are waited for ---- */

/* The least time that irregular loads need (docs/roofs.md, "Irregular access"). */
struct model_wait {
	enum model_pattern pattern; /* PATTERN_STREAM: they hold nothing up */
	enum roof_level level;      /* where most of that time goes */
	double seconds;             /* elapsed */
	const struct roof *noisy;   /* a row behind it with a wide spread, or NULL */
};
/* That of lines at each level, L1 to DRAM, of `threads` threads together: one after another
 * (PATTERN_CHASE) or as many at once as there can be (PATTERN_RANDOM), at the measured rates. Where
 * a rate was not measured, the usual one of processors if `usual`, else 0 seconds. */
struct model_wait model_wait_for(const struct profile *profile, const double lines[MODEL_LEVELS],
				 enum model_pattern pattern, double threads, bool usual);
