/* Where code that was made at run time stands in a profile. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile.h"
#include "symbols/jit_dump.h"

/* Code of the same name that was made again has offsets of its own, and so lines of its own. */
struct jit_places {
	struct u64_map of_code; /* of what was made, where and when → number */
	uint64_t *starts;       /* offset of each */
	size_t n_starts, cap_starts;
	struct u64_map of_name; /* row of the function plus 1 → where its next code begins in it */
};

void jit_places_deinit(struct jit_places *places);
/* The module, and in *offset where, of an address in code of process `pid`; adds its function, and
 * its lines when it is new.  PROFILE_NONE when memory is short. */
uint32_t jit_place(struct jit_places *places, struct profile *profile, uint32_t pid,
		   const struct jit_code *code, uint64_t address, uint64_t *offset);
