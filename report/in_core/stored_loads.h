/* Loads that come soon behind stores to the same place, or to one that looks like it, by the
 * instruction that loads (the profile's store_loads). */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "profile/profile.h"

struct stored_loads {
	const struct profile *profile;
	struct u64_map first_of; /* by instruction: its first row plus 1 */
};

/* The rows of the profile are by module and offset; it must outlive this.  Fails only when memory
 * is short; deinit in any case. */
struct rf_error *stored_loads_init(const struct profile *profile, struct stored_loads *loads);
void stored_loads_deinit(struct stored_loads *loads);

/* What the loads of an instruction come behind, as shares of those that were looked at, 0 to 1. */
struct stored_load {
	double blocked, aliased;
	/* The store that most of them, at least half, come behind and get bytes of; else its module
	 * is PROFILE_NONE. */
	uint32_t store_module;
	uint64_t store_offset;
	bool blocks, shifts; /* what most of these find: a store that blocks them, or shifts */
	unsigned since;      /* executions of the store in between */
};
/* `loads` may be NULL. */
struct stored_load stored_load_at(const struct stored_loads *loads, uint32_t module,
				  uint64_t offset);
