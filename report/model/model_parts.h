/* Steps of model_build, one file each. */
#pragma once

#include "report/model/model.h"

/* Rows while the model is built: functions, then one "unknown" row per module, then one row for
 * addresses in no module at all.  Then all of them once more: the time of what is counted elsewhere
 * and ran natively here. */
struct model_rows {
	const struct profile *profile;
	const struct model_groups *groups; /* NULL: rows are functions */
	uint32_t *order;                   /* functions by (module, start) */
	size_t n_named;                    /* rows before those of unknown code */
	struct model_function *rows;
	size_t n_rows; /* twice n_places */
	size_t n_places;
	struct model_choice choice;
	bool *has_part; /* per place: whether the second of its rows is used */
	bool sums;      /* all steps read the profile's sums, not what they were made from */
};

/* What model_row_at needs, without any row; `order` is to be freed.  False: no memory. */
bool model_places_init(struct model_rows *rows, const struct profile *profile);
/* Row of the code at (module, offset); *end (may be NULL) gets the offset up to which it holds. */
size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end);

/* Whether anything may be in a row.  Most have no second part: these stay as they were allocated,
 * untouched. */
static inline bool model_is_used(const struct model_rows *rows, size_t row)
{
	return row < rows->n_places || rows->has_part[row - rows->n_places];
}

/* Row of what `thread` did in code whose row is `row`. */
static inline size_t model_row_of_thread(const struct model_rows *rows, size_t row, uint32_t thread)
{
	const struct model_groups *groups = rows->groups;
	return groups && groups->by_thread && row < groups->n_kinds
		       ? groups->by_thread[row * rows->profile->n_threads + thread]
		       : row;
}

/* model_sums.c: row of the place of a sum. */
size_t model_row_of_sum(const struct model_rows *rows, uint32_t sum);
/* The same as model_count, from sums; concurrency, too. */
bool model_count_sums(struct model_rows *rows, struct model *model);
/* The lines of a sum in the first classes. */
void model_sum_lines(const struct profile_sum_traffic *row, unsigned n_classes,
		     struct traffic_lines *lines);
/* Puts the rows of a model, after all steps but the last, into the profile. */
bool model_store_sums(const struct model_rows *rows, const struct model *model,
		      struct profile *profile);

/* model_count.c: blocks × counts × work. */
bool model_count(struct model_rows *rows, struct model *model);
/* Finds or adds; NULL when memory is short. */
struct model_thread *model_thread_of(struct model_function *function, uint32_t thread);
/* model_counters.c: hardware counters → quantities; and work, where that is from them. */
bool model_counters(struct model_rows *rows, struct model *model);
/* model_processes.c: which process and thread of one run is which of the other, and what of them
 * ran natively in the counted run. */
struct model_threads {
	const struct model_rows *rows;
	uint32_t *process_of;   /* per thread: row in profile->processes, or PROFILE_NONE */
	uint32_t *twin_process; /* per process */
	uint32_t *twin_thread;  /* per thread: the same one in the other run, or PROFILE_NONE */
	const char **native;    /* per thread of the counted run: why it ran natively, or NULL */
	uint32_t *by_process;   /* threads, those of each process together, by their birth */
	bool *unmatched; /* per process: the counted run has none of that name that could be it */
	uint32_t *shown; /* per process: index in model->processes */
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
/* What one sample added to the program's own time, in ns; the CPU time that a sample stands for
 * without it. */
uint64_t model_sample_cost(const struct profile *profile);
uint64_t model_sample_weight(const struct profile_sample *sample, uint64_t cost);
/* model_roofs.c: the measured roofs that fit a function. */

struct model_rate {
	double value;             /* 1e9 flop or bytes per second; 0: not measured */
	const struct roof *noisy; /* a row behind it whose spread is wide, or NULL */
};

/* One bandwidth that may be a function's: its data on this level, its stores done so. */
struct model_bandwidth {
	const char *level;
	const char *stores; /* as in struct model_place */
	struct model_rate rate;
};
#define MODEL_BANDWIDTHS (2 * MODEL_LEVELS)

/* What a function's mix of precisions, additions and multiplications reaches at most; *borrowed
 * gets the precision that stands in for its own, if one does. */
struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    const char **borrowed);
/* The same on scalar rows alone, in the function's main precision. */
double model_scalar_top(const struct profile *profile, const struct model_function *function);
/* What its widths and kinds of instructions reach at most; not above `top`. */
double model_mix_ceiling(const struct profile *profile, const struct model_function *function,
			 double top);
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
/* The most that can move at a level ("L1": LS bytes), 1e9 bytes per second; 0 where no row tells it
 * from the level below.  Roofs are measured in LS bytes; docs/profile-format.md says how they are
 * converted. */
struct model_rate model_level_rate(const struct profile *profile, const char *level,
				   const struct tally *tally, double threads,
				   const struct model_moves *moves);

/* Of a function's bytes at one of its levels. */
struct model_moves model_moves_of(const struct model_function *function,
				  const struct model_level *level,
				  enum traffic_direction direction);

/* model_memory.c: model->memory and rows->rows[].traffic, as far as it is known without the time:
 * traced where it was, else by the PMU where it was asked for that.  model_counters comes before.
 * False: no memory. */
bool model_memory(struct model_rows *rows, struct model *model);
/* The traced kind of it. */
bool model_trace(struct model_rows *rows, struct model *model);
/* The first step of both: level L1, by LS bytes. */
struct model_level *model_add_level(struct model_traffic *traffic, const char *name);
void model_add_registers(struct model_traffic *traffic, const struct tally *tally);
/* Its intensities, rates and roofs, when the time is known. */
void model_trace_rates(const struct profile *profile, const struct model_choice *choice,
		       struct model_function *function);
void model_traffic_destroy(struct model_traffic *traffic);
/* Adds one row of the profile. */
void model_add_lines(struct traffic_lines *lines, const struct profile_traffic *row);
struct model_bytes model_bytes_of(const struct traffic_lines *lines, unsigned n_classes);

/* model_count.c, for sums over other parts of the code than functions: the instruction once; one
 * unit of it; sum += part × times. */
void model_tally_fixed(struct tally *tally, const struct work *work);
void model_tally_unit(const struct work *work, struct tally *tally);
void model_tally_add(struct tally *sum, const struct tally *part, int64_t times);

/* model_loops.c: rows->rows[].loops.  False: no memory. */
bool model_find_loops(struct model_rows *rows, const struct model_threads *threads,
		      struct model *model);
