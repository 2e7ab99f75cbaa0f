/* The call paths of all samples as one tree of functions. */
#pragma once

#include "report/rows/view.h"

/* A function called by the path of its parent. */
struct call_step {
	uint32_t parent;                   /* an earlier step, or PROFILE_NONE */
	uint32_t row;                      /* of the plain model (profile_place_at) */
	bool dull;                         /* start-up code below the first function of interest */
	uint64_t time_ns[2], n_samples[2]; /* of samples that end here: counted, uncounted */
};

struct call_tree {
	struct call_step *steps;
	size_t n_steps, cap_steps;
};

/* Of the plain model's samples.  A function that calls itself is one step.  Fails only when memory
 * is short; deinit in any case. */
struct rf_error *call_tree_init(struct call_tree *tree, const struct report_view *view);
void call_tree_deinit(struct call_tree *tree);
/* The step that called it, PROFILE_NONE: start-up code, or nothing that is known. */
uint32_t call_tree_caller(const struct call_tree *tree, uint32_t step);
