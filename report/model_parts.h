/* Steps of model_build, one file each. */
#pragma once

#include "report/model.h"

/* Rows while the model is built: functions, then one "unknown" row per module, then one row for
 * addresses in no module at all.  Then all of them once more: the time of what is counted elsewhere and
 * ran natively here. */
struct model_rows {
	const struct profile *profile;
	uint32_t *order;	/* functions by (module, start) */
	struct model_function *rows;
	size_t n_rows;		/* twice n_places */
	size_t n_places;
};

/* Row of the code at (module, offset); *end (may be NULL) gets the offset up to which it holds. */
size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end);

/* model_count.c: blocks × counts × work. */
bool model_count(struct model_rows *rows, struct model *model);
/* model_processes.c: which process and thread of one run is which of the other, and what of them ran
 * natively in the counted run. */
struct model_threads {
	const struct model_rows *rows;
	uint32_t *process_of;	/* per thread: row in profile->processes, or PROFILE_NONE */
	uint32_t *twin_process;	/* per process */
	uint32_t *twin_thread;	/* per thread: the same one in the other run, or PROFILE_NONE */
	const char **native;	/* per thread of the counted run: why it ran natively, or NULL */
	uint32_t *by_process;	/* threads, those of each process together, by their birth */
	bool *unmatched;	/* per process: the counted run has none of that name that could be it */
	uint32_t *shown;	/* per process: index in model->processes */
};
bool model_threads_init(struct model_threads *threads, const struct model_rows *rows);
void model_threads_deinit(struct model_threads *threads);
/* Fills model->processes; their work is that of the rows. */
bool model_processes(const struct model_threads *threads, struct model *model);
/* Whether time of `thread` in `row` was not counted, and why. */
bool model_is_uncounted(const struct model_threads *threads, size_t row, uint32_t thread,
			struct model_uncounted *cause);

/* model_time.c: samples → time, concurrency. */
bool model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model);
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
