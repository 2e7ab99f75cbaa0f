/* Steps of model_build, one file each. */
#pragma once

#include "report/model.h"

/* Rows while the model is built: functions, then one "unknown" row per module, then one row for
 * addresses in no module at all. */
struct model_rows {
	const struct profile *profile;
	uint32_t *order;	/* functions by (module, start) */
	struct model_function *rows;
	size_t n_rows;
};

/* Row of the code at (module, offset); *end (may be NULL) gets the offset up to which it holds. */
size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end);

/* model_count.c: blocks × counts × work. */
bool model_count(struct model_rows *rows, struct model *model);
/* model_time.c: samples → time, concurrency. */
bool model_time(struct model_rows *rows, struct model *model);
/* model_roofs.c: the measured roofs that fit a function. */

struct model_rate {
	double value;		     /* 1e9 flop or bytes per second; 0: not measured */
	const struct roof *noisy;    /* a row behind it whose spread is wide, or NULL */
};

/* One bandwidth that may be a function's: its data on this level, its stores done so. */
struct model_bandwidth {
	const char *level;
	const char *stores;	/* as in struct model_place */
	struct model_rate rate;
};
#define MODEL_BANDWIDTHS (2 * MODEL_LEVELS)

/* What a function's mix of precisions, additions and multiplications reaches at most; *borrowed gets
 * the precision that stands in for its own, if one does. */
struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    const char **borrowed);
/* The same on scalar rows alone, in the function's main precision. */
double model_scalar_top(const struct profile *profile, const struct model_function *function);
/* What its widths and kinds of instructions reach at most; not above `top`. */
double model_mix_ceiling(const struct profile *profile, const struct model_function *function, double top);
/* The bandwidths for a function's own bytes, from the slowest level upward; the last is the fastest. */
size_t model_bandwidths(const struct profile *profile, const struct tally *tally, double threads,
			struct model_bandwidth out[MODEL_BANDWIDTHS]);

/* model_place.c: point, roof, distance, headroom, bound. */
bool model_place(const struct profile *profile, struct model_function *function, bool counted);
