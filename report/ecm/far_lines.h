/* Lines that come by steps of a page or more.
 *
 * Prefetchers follow steps within a page of 4 KiB, since the next page may lie anywhere (Intel 64
 * and IA-32 Architectures Optimization Reference Manual, "Data Prefetching"; AMD Software
 * Optimization Guides, "Hardware Prefetching").  Steps that are multiples of a page meet the same
 * set of L1 again and again, besides, which has few lines under way at once. */
#pragma once

#include "report/model/model.h"

/* An instruction most of whose steps are one of a page or more. */
struct far_access {
	uint32_t module;
	uint64_t offset;
	double sets;                /* of L1 that it meets by as many steps as are under way */
	double found[MODEL_LEVELS]; /* lines, at each level from L2 on, that were not nearer */
};

/* Those of a profile whose traffic was traced, by module, then by offset; of others none. */
struct far_accesses {
	struct far_access *rows;
	size_t n_rows, cap_rows;
};

/* Fails only when memory is short; deinit in any case. */
struct rf_error *far_accesses_init(const struct profile *profile, const struct model *model,
				   struct far_accesses *far);
void far_accesses_deinit(struct far_accesses *far);

/* Sets of an L1 of 64 sets that eight or more lines meet at that step, bytes: 1 to FAR_SETS. */
#define FAR_SETS 32
double far_sets_of(int64_t step);

/* Lines by level from L2 on; `crowded`: each over the sets that its instruction meets, so lines of
 * one set that take as long. */
struct far_lines {
	double lines[MODEL_LEVELS], crowded[MODEL_LEVELS];
};
/* Those of a function's own code: sums[i] of what is in loop i and in none within it, sums[n_loops]
 * of what is in no loop; all are zero before.  Where it is not known what they take (`random`)
 * there are none: they stay among those that are streamed.  `far` may be NULL: none. */
void far_lines_by_loop(const struct far_accesses *far, const struct profile *profile,
		       const struct model_function *f, struct far_lines *sums);

/* Seconds of one thread's time that lines take because they crowd sets; 0: it was not measured. */
double far_lines_crowd_s(const struct profile *profile, const struct far_lines *lines);
