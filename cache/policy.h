/* What passes between the caches of a processor: rows of policies.def. */
#pragma once

#include "cache/geometry.h"

struct cache_policy {
	const char *name; /* as in machine/topology/microarchitectures.def where it is there */
	enum cache_inclusion l2, l3; /* L2 of L1, L3 of L2 */
	/* Tree-PLRU is applied only where the ways are a power of two. */
	enum cache_replacement replacement[CACHE_LEVELS];
	bool evades_write_allocate;
};

/* The first row is for processors that have none. */
extern const struct cache_policy cache_policies[];
extern const unsigned n_cache_policies;

/* The row of that name (case does not matter), or NULL. */
const struct cache_policy *cache_policy_find(const char *name);

/* Gives the levels what a row says: inclusion and replacement. */
void cache_policy_apply(const struct cache_policy *policy, struct geometry *geometry);
