/* Parts of one work side by side, where they do not touch each other's. */
#pragma once

#include "base/error.h"

#include <stddef.h>

#define PARALLEL_MOST 8 /* parts */

/* Into how many parts to cut `n` things of which a thread is to have `least` at least: as many as
 * there are processors for this process, 1 to PARALLEL_MOST. */
size_t parallel_parts(size_t n, size_t least);

/* Runs the parts 0 to n - 1, the first in this thread and each other one in its own, or in this one
 * where there is no thread to be had.  Returns when all have ended, with the error of the first
 * that has one. */
struct rf_error *parallel_run(size_t n, struct rf_error *(*run)(size_t part, void *context),
			      void *context);
