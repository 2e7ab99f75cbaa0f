/* Rows that are call paths. */
#pragma once

#include "report/rows/view.h"

/* A model whose rows are call paths, from the outermost function (below start-up code) to the one
 * that the time is of: each with its samples' time, and with the speed and the roof of that
 * function, since work is counted by function and not by path.  The rows borrow from the plain
 * model.  --focus and --ignore look at all functions of a path.  Free with call_paths_destroy. */
struct rf_error *call_paths_create(const struct report_view *view, struct model *out);
void call_paths_destroy(struct model *paths);
