/* Which function the code at (module, offset) belongs to. */
#pragma once

#include "profile/profile.h"

/* The functions of a profile in the order of their code. */
struct function_index {
	const struct profile_function *of; /* what was indexed */
	size_t n;
	uint32_t *rows; /* of profile->functions, by (module, start) */
};

/* Indexes the functions, unless they are indexed already.  To be called before the others, once
 * the functions are complete.  Fails only when memory is short. */
struct rf_error *profile_index_functions(const struct profile *profile);
void function_index_deinit(struct function_index *index);

/* The row in profile->functions of the code at (module, offset), or PROFILE_NONE where that is in
 * no function.  *end (may be NULL) gets the offset up to which the answer holds. */
uint32_t profile_function_at(const struct profile *profile, uint32_t module, uint64_t offset,
			     uint64_t *end);

/* Places are functions, then the code of each module that is in no function, then code of no
 * module: place f is function f, place n_functions + m the other code of module m. */
static inline size_t profile_n_places(const struct profile *profile)
{
	return profile->n_functions + profile->n_modules + 1;
}

/* The place of the code at (module, offset), `module` may be PROFILE_NONE; *end as above. */
size_t profile_place_at(const struct profile *profile, uint32_t module, uint64_t offset,
			uint64_t *end);
/* The place of each frame's own address (for a caller that is the one behind its call), to be
 * freed.  Indexes the functions.  NULL when memory is short. */
uint32_t *profile_places_of_frames(const struct profile *profile);
/* `function` and `module` of a place, as rows of sums have them: one of them, or neither. */
void profile_split_place(const struct profile *profile, uint32_t place, uint32_t *function,
			 uint32_t *module);
