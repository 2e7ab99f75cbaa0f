/* From a profile to functions with their work, time, concurrency and place under the roofs.
 * docs/profile-format.md and docs/work.md define every figure. */
#pragma once

#include "base/error.h"
#include "insn/work.h"
#include "profile/profile.h"
#include "report/model/model_tally.h"
#include "report/model/model_traffic.h"
#include "statistics/summary.h"

#include <stdbool.h>

/* Issue limit, instructions per cycle, of cores that are not known to be wider: what Golden Cove
 * renames and Zen 4 dispatches (Intel and AMD optimisation manuals); older cores reach 4.  A
 * default until a measured one exists: too high says "further below" at worst, too low would call
 * real code a fault. */
#define MODEL_ISSUE_WIDTH 6
/* The profile's own, or the default. */
double model_issue_width(const struct profile *profile);
/* Whether work comes from hardware counters alone: then it is sampled, and nothing is uncounted. */
bool model_from_counters(const struct profile *profile);
/* A point may lie this far above a roof before that roof is ruled out: the spread of timing. */
#define MODEL_TOLERANCE 0.05
/* Below this many flop per instruction a function is control code: a conversion here and there
 * says nothing about its speed. */
#define MODEL_FLOP_PER_INSTRUCTION 0.01
/* A time from fewer samples is marked "≈" (docs/profile-format.md). */
#define MODEL_FEW_SAMPLES 20

/* Rows that are not functions.  Code [start, end) of a module belongs to the row of its range. */
struct model_range {
	uint32_t module;
	uint64_t start, end;
	uint32_t row;
};
struct model_group {
	char *name;
	const char *module;
	uint32_t function;            /* row in profile->functions, or PROFILE_NONE */
	bool left_out;                /* by --focus or --ignore */
	struct profile_sum_code code; /* of a row that is a function: what its code shows */
};
struct model_groups {
	/* by (module, start), without overlaps, all code of each module */
	struct model_range *ranges;
	size_t n_ranges, cap_ranges;
	struct model_group *groups; /* the rows */
	size_t n_groups, cap_groups;
	/* NULL, or the row of what owner t did in ranges of row r: [r × n_owners + t].  Owners are
	 * threads, or kernels where kernel_of_sample is there: 0 none, else a kernel's row plus 1
	 */
	uint32_t *by_owner;
	size_t n_owners;
	uint32_t *kernel_of_sample;
	size_t n_kinds;        /* of by_owner: rows that ranges have */
	const bool *uncounted; /* per sample, as a model without groups has found it */
};

/* What a model is asked for beside the defaults. */
struct model_choice {
	const char *level; /* place by this level of the traffic, "L1" to "DRAM"; NULL: by the one
			      that binds */
	enum traffic_direction direction;
	bool loops; /* find the loops of each function */
	bool sums;  /* where the profile has sums, build from these; not with loops or groups */
	const struct model_groups *groups; /* NULL: rows are functions */
};

enum model_bound {
	BOUND_UNKNOWN,   /* no roof or no count to place it by */
	BOUND_UNCOUNTED, /* has time, but the counted run did not see it */
	BOUND_MEMORY,
	BOUND_COMPUTE,
	BOUND_BALANCED,
	BOUND_ISSUE,   /* control code near the issue limit */
	BOUND_LATENCY, /* below half of every ceiling that applies, or held by a chain of loads */
	BOUND_WAITING, /* spins until others are done: what it does is no work */
	BOUND_KERNEL,  /* a row of the kernel's work */
};

enum model_axis { AXIS_NONE, AXIS_FLOP, AXIS_BYTES, AXIS_INSTRUCTIONS };

/* How the lines come that hold a function. */
enum model_pattern {
	PATTERN_STREAM, /* fetched ahead: a bandwidth is the roof */
	PATTERN_RANDOM, /* at irregular addresses: the rate of independent random loads */
	PATTERN_CHASE,  /* the same, each waiting for the one before: the latency */
};

/* A figure in each of several timed runs (--repeat). */
struct model_runs {
	size_t n; /* 0: there was one run */
	struct summary s;
};

/* The point and its roof; rates in 1e9 per second of elapsed time. */
struct model_place {
	enum model_axis axis; /* what `point` and `roof` count */
	double point, roof;
	double ceiling;  /* roof of this mix of widths and kinds; AXIS_FLOP only, else = roof */
	double roof_l1;  /* the roof if all data come from L1: the most that can be asked */
	double ridge;    /* flop/byte where compute meets the level's bandwidth; 0: none */
	double distance; /* roof / point: below 1 only where `above`, 1 where the roof is within the
			  * point's interval; NAN without a roof */
	double headroom_s; /* elapsed_s · (1 - point / roof), at least 0; NAN without a roof */
	double spread;     /* of the distance, relative, 95 %: of its time, and of what moved */
	enum model_bound bound;
	/* What binds it at another point of its interval, or BOUND_UNKNOWN: the bound is sure.  A
	 * function of which that is not sure is not called latency bound. */
	enum model_bound bound_or;
	char level[8]; /* level whose bandwidth the roof is; "" for a compute roof */
	bool traced;  /* by what moved at that level, as traced or by the PMU; else by LS bytes, and
		       * the level is inferred */
	bool at_most; /* what moved is a lower bound: roof, distance and headroom are at most these
		       */
	enum model_pattern pattern; /* of a roof that is a level's and traced */
	double chains;              /* PATTERN_CHASE: so many run beside each other, on average */
	double roof_streamed;       /* the roof if those lines were streamed; 0: it is no other */
	const char *stores;         /* how the stores of that bandwidth's kernels are made: "apart",
				     * "in place", "non-temporal", "string"; NULL for a compute roof, and
				     * where traced */
	bool interpolated;          /* no roof was measured at this concurrency */
	/* a row of the profile behind the roof whose spread is wide, or NULL */
	const struct roof *noisy;
	bool above;       /* above its roof (one that is inferred: above every level's), also at the
			   * slow end of the 95 % interval of its time, with the least bytes of theirs */
	bool late_writes; /* above, but not by what it read alone: what it wrote back may have moved
			     later, in the time of others */
	const char *borrowed; /* precision whose roof stands in for the function's own, or NULL */
	enum roof_op lacks;   /* an operation of its work that no row was measured of, so that
			       * another one's stands in; else ROOF_OP_NONE */
};

/* A sum over hardware counters: of the whole run, or what samples say of a function. */
struct model_quantity {
	const char *name; /* "flop_dp", … (tracer/pmu/event_table.h) */
	double value;     /* flop, instructions, bytes, … */
	double events;    /* behind it */
	double variance;  /* of `value`, by the choice of samples; 0 for totals */
	uint64_t samples;
	bool used;  /* totals: any of its events was counted */
	bool below; /* totals: some of them are lower bounds */
};

struct model_function {
	char *name; /* as in the profile, or "[unknown in MODULE]".  Twice where one part of its
		     * time was counted and another was not: that row is BOUND_UNCOUNTED */
	const char *module;  /* display name */
	uint32_t function;   /* row in profile->functions, or PROFILE_NONE */
	size_t row;          /* its place (profile/function_index.h), or its group */
	bool uncounted_part; /* the second of two rows of one name */
	bool left_out;       /* by --focus or --ignore */
	struct tally tally;
	struct profile_sum_thread *threads; /* `sum` unused here and in traffic */
	size_t n_threads, cap_threads;
	uint64_t time_ns; /* CPU time: sum of sample weights; of several runs their median
			   * (model_runs.h) */
	uint64_t n_samples;
	struct model_runs runs;        /* seconds; of code that is in a row by its place */
	double share;                  /* of the CPU time of all samples */
	double concurrency;            /* average number of threads inside it while any is; ≥ 1 */
	double elapsed_s;              /* time_ns / 1e9 / concurrency */
	double halfwidth_s;            /* of time_ns / 1e9, 95 % */
	enum flop_precision precision; /* the one with most flop */
	double intensity; /* flop per LS byte; INFINITY without bytes, 0 without flop */
	struct model_traffic *traffic; /* NULL: neither traced nor counted by the PMU */
	/* as many as the model has; NULL: no sample of a hardware counter */
	struct model_quantity *quantities;
	struct profile_sum_code code; /* what its code shows; `sum` unused; 0: not looked at, as of
				       * rows that are no functions */
	bool waits;                   /* most of its time it waits for other threads, busily */
	struct model_loop *loops; /* the outermost, those within the first, within the second, …;
				     none unless asked for */
	size_t n_loops, cap_loops;
	struct model_bytes *loop_bytes;         /* theirs; NULL where nothing moved */
	struct model_irregular *loop_irregular; /* theirs, or NULL */
	struct model_place place;
};

/* A process: what both runs know of it. */
struct model_process {
	uint32_t timed, counted; /* rows in profile->processes, or PROFILE_NONE */
	uint32_t parent;         /* index in model->processes, an earlier one, or PROFILE_NONE */
	uint64_t time_ns, n_samples;
	uint64_t uncounted_ns; /* of time_ns: ran natively in the counted run */
	uint64_t flop, load_bytes, store_bytes, instructions;
};

/* Time of code that the counted run did not count, by the cause. */
struct model_uncounted {
	const char *kind; /* "process", "thread", "module" or "function" */
	const char *name; /* of that process, …; "" where all functions are meant that have no other
			     cause */
	const char *reason;
	uint64_t time_ns, n_samples;
};

/* A loop of a function: instructions that can be reached from one another by the transfers that
 * were executed. */
struct model_loop {
	uint32_t parent; /* the loop around it, an earlier one of the function, or PROFILE_NONE */
	uint32_t number; /* by its header among those in that loop, from 1 */
	uint64_t start, end; /* offsets: of its first instruction, behind its last one */
	uint64_t header;     /* offset of the instruction that each turn passes */
	int64_t turns;       /* executions of it */
	int64_t entries;     /* how often it was entered from outside; -1: cannot be told from the
				counts */
	struct tally_main tally; /* with the loops within */
	uint64_t time_ns, n_samples;
	const struct model_bytes *bytes; /* traced; &model_no_bytes where nothing moved */
	/* Of its own code, without the loops within; as in struct profile_sum_code, so of a
	 * function with time. */
	uint64_t taken, chain_cycles;
	/* MODEL_LEVELS of them, of its own code, `longest` without L1; NULL: it has no irregular
	 * instruction. */
	const struct model_irregular *irregular;
};

/* Code of the innermost loop `loop` of the function with row `function` in profile->functions. */
struct model_loop_code {
	uint32_t module, function, loop;
	uint64_t start, end;
};

struct model {
	struct model_function *functions; /* those with time or instructions */
	size_t n_functions;
	bool counted;             /* the profile holds counts */
	enum model_memory memory; /* where what functions move to and from memory is from */
	bool traced;              /* MEMORY_TRACED */
	unsigned traced_classes;  /* of CACHE_CLASSES */
	struct model_bytes
		bytes; /* of all code, whether it is in a function or not; by the PMU `mem` alone */
	uint64_t time_ns, n_samples;       /* all rows together */
	double halfwidth_s;                /* of time_ns / 1e9, 95 % */
	struct model_runs runs, wall;      /* seconds: of all samples; by the clock */
	double wall_halfwidth_s;           /* of its median, 95 %, with several runs */
	uint64_t uncounted_ns;             /* time of what was not counted */
	struct model_uncounted *uncounted; /* its parts, longest first */
	size_t n_uncounted, cap_uncounted;
	struct model_quantity *quantities; /* of hardware counters, of all code */
	size_t n_quantities, cap_quantities;
	struct model_loop_code *loop_code; /* where loops were asked for; by (function, start) */
	size_t n_loop_code, cap_loop_code;
	bool *uncounted_samples;  /* per sample */
	uint64_t *sample_ns;      /* per sample: the time that it stands for, less what it cost */
	uint32_t *twin_of_thread; /* per thread: the same one in the other run, or PROFILE_NONE */
	uint32_t *process_of_thread;     /* rows in profile->processes, or PROFILE_NONE */
	struct model_process *processes; /* in the order of birth; none in files without them */
	size_t n_processes;
	size_t unreadable_blocks; /* blocks with an instruction that cannot be decoded */
	size_t unmatched_units;   /* run-time units whose instruction is in no block */
};

/* Adds the sums to a profile that is complete but for them, and sets has_sums.  Fails only when
 * memory is short. */
struct rf_error *model_summarise(struct profile *profile);

/* Fails only when memory is short. */
struct rf_error *model_build(const struct profile *profile, struct model *model);
struct rf_error *model_build_as(const struct profile *profile, const struct model_choice *choice,
				struct model *model);
void model_deinit(struct model *model);

/* "add_double_256" and so on. */
void model_kind_name(int kind, int precision, int width, char *buffer, size_t size);
const char *model_precision_name(enum flop_precision precision);
