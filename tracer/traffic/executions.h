/* How often instructions ran, from the counts of blocks that a profile has already. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/process/told_threads.h"

struct executions {
	struct counted_code {
		uint32_t thread, module, size;
		uint64_t start;
		int64_t n, checked;
	} * items; /* by thread, module and start */
	size_t n_items;
	bool in_windows; /* accesses were not checked all the time */
	bool is_part; /* they were also when what ran is not counted: only a part of the run is */
	uint32_t longest; /* size of one of them, in bytes */
};

/* What others ran is told of the same thread as their traffic.  Errors: memory is short; then there
 * is nothing to destroy. */
struct rf_error *executions_init(struct executions *executions, const struct profile *profile,
				 const struct told_threads *told);
void executions_deinit(struct executions *executions);

/* Of the instruction at that offset of a module of the profile, in that thread. */
double executions_of(const struct executions *executions, uint32_t thread, uint32_t module,
		     uint64_t offset);
/* The same, of which its accesses were checked; all, where checks are not in windows of time. */
double executions_checked(const struct executions *executions, uint32_t thread, uint32_t module,
			  uint64_t offset);
