/* Which accesses lie in two cache lines: such a load or store takes the L1 twice. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile.h"

struct line_crossings {
	struct u64_map shares; /* of 1e9, by place */
};

/* Of a profile's table `crossings`.  Fails only when memory is short; deinit in any case. */
struct rf_error *line_crossings_init(const struct profile *profile,
				     struct line_crossings *crossings);
void line_crossings_deinit(struct line_crossings *crossings);
/* The share of the instruction's accesses that lie in two lines, 0 to 1; 0 where none was seen.
 * `crossings` may be NULL: nothing is known, which counts as 0. */
double line_crossings_share(const struct line_crossings *crossings, uint32_t module,
			    uint64_t offset);
