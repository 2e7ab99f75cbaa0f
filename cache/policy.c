/* The table of microarchitectures' policies: which level includes which, and how each replaces. */
#include "cache/policy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct cache_policy cache_policies[] = {
#define POLICY(title, l2_of_l1, l3_of_l2, l1_order, l2_order, l3_order, evades) \
	{title,                                                                 \
	 CACHE_##l2_of_l1,                                                      \
	 CACHE_##l3_of_l2,                                                      \
	 {CACHE_##l1_order, CACHE_##l2_order, CACHE_##l3_order},                \
	 evades},
#include "cache/policies.def"
#undef POLICY
};
const unsigned n_cache_policies = sizeof(cache_policies) / sizeof(cache_policies[0]);

const struct cache_policy *cache_policy_find(const char *name)
{
	for (unsigned i = 0; i < n_cache_policies; i++)
		if (!strcasecmp(cache_policies[i].name, name))
			return &cache_policies[i];
	return NULL;
}

void cache_policy_apply(const struct cache_policy *policy, struct geometry *geometry)
{
	for (int i = 0; i < geometry->n_levels; i++) {
		struct cache_level *level = &geometry->levels[i];
		level->inclusion = i == 0 ? CACHE_NON_INCLUSIVE : i == 1 ? policy->l2 : policy->l3;
		level->replacement =
			level->ways & (level->ways - 1) ? CACHE_LRU : policy->replacement[i];
	}
	geometry->evades_write_allocate = policy->evades_write_allocate;
	snprintf(geometry->policy, sizeof(geometry->policy), "%s", policy->name);
}
