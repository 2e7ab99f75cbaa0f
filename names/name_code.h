/* Names for the code of one module that ran: functions, lines and inlined calls, as rows of a
 * profile. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "names/name_facts.h"
#include "profile/profile.h"

/* A code address of the profile; `block` is its block, or PROFILE_NONE for a frame. */
struct place {
	uint64_t offset;
	uint32_t module, block, size; /* size: of the block's code, or 1 byte */
};

/* Naming one module: its places are sorted, functions are added in that order. */
struct module_work {
	struct profile *profile;
	uint32_t module;
	const struct place *places;
	size_t n_places;
	const struct name_facts *facts;
	uint64_t bias;        /* offset minus virtual address: 0 but for the vdso */
	uint64_t covered;     /* end of the last function added */
	struct u64_map calls; /* of inlined calls: number in the facts + 1 → row */
};

/* Whether the module is the vdso, which has no file. */
bool name_is_vdso(const struct module_work *work);
/* Adds the rows by the facts; code of which they tell nothing gets rows of a page each.  The facts
 * of the vdso are those of its image.  Fails only when memory is short. */
struct rf_error *name_code(struct module_work *work);
/* Tells the source lines of instructions that touch shared lines and of branches, from the
 * profile's own rows. Fails only when memory is short. */
struct rf_error *name_lone_places(struct profile *profile);
