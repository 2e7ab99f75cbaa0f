/* What mispredicted branches cost, from what simulated predictors made of their outcomes
 * (docs/branches.md). */
#pragma once

#include "report/model/model.h"

/* Whether it is known what they cost: outcomes were recorded, a misprediction and the clock
 * measured. */
bool mispredictions_known(const struct profile *profile);

/* Seconds of processor time that the mispredictions of a branch take, in all its executions; NAN:
 * not known. */
double mispredictions_seconds(const struct profile *profile, const struct profile_branch *branch);

/* Of several branches; all zero: none. */
struct mispredictions {
	double n;
	double variance; /* of it, as half-widths of 95 % */
	double seconds;  /* NAN: not known */
};

/* Those of a function's own code: sums[i] of what is in loop i and in none within it, sums[n_loops]
 * of what is in no loop; all are zero before.  Rows that are no functions have none. */
void mispredictions_by_loop(const struct profile *profile, const struct model_function *f,
			    struct mispredictions *sums);

/* Of all of a function's code. */
struct mispredictions mispredictions_in_function(const struct profile *profile,
						 const struct model_function *f);
/* The branches of a function that are mispredicted most often, at most `n`, the worst first.
 * Returns how many there are that are mispredicted at all. */
size_t mispredictions_worst(const struct profile *profile, const struct model_function *f, size_t n,
			    const struct profile_branch **worst);

/* The same of those that take a part of its `seconds` that is worth a word, and of which it is
 * known that they are mispredicted at all: their share is larger than its half-width.  None where
 * it is not known what one costs. */
#define MISPREDICTIONS_TOLD 3
size_t mispredictions_told(const struct profile *profile, const struct model_function *f,
			   double seconds, const struct profile_branch *told[MISPREDICTIONS_TOLD]);

/* As in JSON ("conditional", "jump", "call", "return"), and in words ("branch", "indirect jump").
 */
const char *mispredictions_kind_name(enum profile_branch_kind kind);
const char *mispredictions_kind_words(enum profile_branch_kind kind);
