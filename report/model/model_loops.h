/* The loops of functions. */
#pragma once

#include "report/model/model_rows.h"

/* The loops that are within a loop of `f`, and in no other within that (PROFILE_NONE: those that
 * are in no loop); `n`: so many. */
const struct model_loop *model_loops_within(const struct model_function *f, uint32_t loop,
					    size_t *n);

/* The innermost loop around the instruction at `offset`; f->n_loops: none. */
size_t model_loops_at(const struct model_function *f, uint64_t offset);

/* Reads the code of each function among the rows that has time (model_code.h, model_irregular.h).
 * Where loops were asked for: gives each function its loops with their figures, and sets
 * model->loop_code.  The sums of the rows come before.  Fails only when memory is short. */
struct rf_error *model_find_loops(struct model_rows *rows, struct model *model);
