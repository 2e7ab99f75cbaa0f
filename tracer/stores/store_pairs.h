/* Which stores the loads of each instruction come behind, and what the core can make of that. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdint.h>

/* What a load finds among the stores just before it. */
enum store_outcome {
	STORE_FORWARDS, /* the last store to any of its bytes has all of them, from the first on */
	STORE_SHIFTS,   /* the same, from another one on, or fewer than four */
	STORE_BLOCKS,   /* it has some of them */
	STORE_ALIASES,  /* no store has any; one has an address that ends in the same twelve bits */
	STORE_OUTCOMES
};

struct store_pairs;
/* NULL: memory is short. */
struct store_pairs *store_pairs_create(void);
void store_pairs_destroy(struct store_pairs *pairs);

/* A load of the account `load` (an instruction in a thread; any small number) was looked at. */
void store_pairs_look(struct store_pairs *pairs, uint32_t load);
/* It came behind that store; `since`: how often the store's instruction was executed since then. */
void store_pairs_note(struct store_pairs *pairs, uint32_t load, uint32_t store,
		      enum store_outcome outcome, uint32_t since);

/* Adds the rows to the profile, one for all threads; `place` says which instruction an account is
 * of.  Fails only when memory is short. */
struct rf_error *store_pairs_save(const struct store_pairs *pairs, struct profile *profile,
				  void (*place)(void *context, uint32_t who, uint32_t *module,
						uint64_t *offset),
				  void *context);
