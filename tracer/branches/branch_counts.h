/* What was seen of each branch, in bursts of all threads. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "branches/predictor.h"
#include "profile/profile.h"
#include "statistics/ratio.h"

/* The first outcomes of a branch teach the predictors: they say something of the others only where
 * hardly more were seen. */
#define BRANCH_TEACHES 256

struct branch_tally {
	uint64_t outcomes, wrong, plain_wrong;
};

/* Outcomes behind those that teach, which most branches of a large program do not have. */
struct late_outcomes {
	struct branch_tally all;
	struct ratio wrong; /* by burst */
};

/* As small as it can be: there is one for each branch. */
struct counted_branch {
	uint64_t offset, taken;
	uint32_t module;
	uint32_t late; /* place in branch_counts.late plus 1; 0: none */
	struct {
		uint32_t outcomes, wrong, plain_wrong;
	} burst; /* of the late ones, the one at hand */
	struct {
		uint16_t outcomes, wrong, plain_wrong;
	} early;
	uint8_t kind; /* enum predicted_kind */
	bool in_burst;
};

/* All zero: nothing was seen. */
struct branch_counts {
	struct counted_branch *items;
	size_t n_items, cap_items;
	struct late_outcomes *late;
	size_t n_late, cap_late;
	struct u64_map index; /* by place */
	uint32_t *touched;    /* in the burst at hand */
	size_t n_touched, cap_touched;
	uint64_t n_outcomes, n_bursts;
	bool memory_short;
};

void branch_counts_deinit(struct branch_counts *counts);

/* An outcome of the branch at that offset of a module of the profile, which has that place. */
void branch_counts_add(struct branch_counts *counts, uint32_t module, uint64_t offset,
		       const struct executed_branch *branch, const struct branch_guesses *guesses);
/* What was added since the last call was one burst of one thread. */
void branch_counts_end_burst(struct branch_counts *counts);
/* Adds the rows to the profile, which has the counts of all blocks.  Fails only when memory is
 * short. */
struct rf_error *branch_counts_save(const struct branch_counts *counts, struct profile *profile);
