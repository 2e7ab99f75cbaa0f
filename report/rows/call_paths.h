/* Rows that are call paths, and what frames of a stack are called. */
#pragma once

#include "report/rows/view.h"

/* A model whose rows are call paths, from the outermost function (below start-up code) to the one
 * that the time is of: each with its samples' time, and with the speed and the roof of that
 * function, since work is counted by function and not by path.  The rows borrow from the plain
 * model.  --focus and --ignore look at all functions of a path.  Free with call_paths_destroy. */
struct rf_error *call_paths_create(const struct report_view *view, struct model *out);
void call_paths_destroy(struct model *paths);

/* The name of a place (profile_place_at, and the plain model's model_function.row), without
 * "unknown in". */
const char *report_row_name(const struct profile *profile, uint32_t row);
/* Whether it is what calls main, or a thread's first function. */
bool report_is_start_up(const char *name);
