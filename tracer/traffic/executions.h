/* How often instructions ran, from the counts of blocks that a profile has already. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

struct executions {
	struct counted_code {
		uint32_t thread, module, size;
		uint64_t start;
		int64_t n;
	} * items; /* by thread, module and start */
	size_t n_items;
	uint32_t longest; /* size of one of them, in bytes */
};

/* Errors: memory is short; then there is nothing to destroy. */
struct rf_error *executions_init(struct executions *executions, const struct profile *profile);
void executions_deinit(struct executions *executions);

/* Of the instruction at that offset of a module of the profile, in that thread. */
double executions_of(const struct executions *executions, uint32_t thread, uint32_t module,
		     uint64_t offset);
