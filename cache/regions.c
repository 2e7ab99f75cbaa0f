/* Numbers the regions of memory that a program uses. */
#include "cache/regions.h"

#include "base/array.h"

void regions_init(struct regions *regions, const struct geometry *geometry, unsigned groups)
{
	*regions = (struct regions){.group_bits = __builtin_ctz(groups)};
	regions->shift = REGION_BITS - regions->group_bits;
	for (int i = 0; i < geometry->n_levels; i++)
		regions->sets[i] = geometry->levels[i].sets / groups;
}

void regions_deinit(struct regions *regions)
{
	free(regions->items);
	u64_map_deinit(&regions->ids);
	*regions = (struct regions){0};
}

static uint32_t region_create(struct regions *regions, uint64_t number)
{
	struct region region = {number};
	uint64_t first = (number << REGION_BITS) >> regions->group_bits;
	for (int i = 0; i < CACHE_LEVELS; i++)
		region.first_set[i] = regions->sets[i] ? first % regions->sets[i] : 0;
	uint32_t id = regions->n_items ? regions->n_items : 1; /* 0 stays free */
	if (id >> (32 - regions->shift))
		return 0;
	if (id == 1 && !rf_array_push(regions->items, regions->n_items, regions->cap_items,
				      (struct region){0}))
		return 0;
	if (!u64_map_set(&regions->ids, number + 1, id))
		return 0;
	return rf_array_push(regions->items, regions->n_items, regions->cap_items, region) ? id : 0;
}

uint32_t regions_add(struct regions *regions, uint64_t number)
{
	uint32_t *found = u64_map_find(&regions->ids, number + 1);
	uint32_t id = found ? *found : region_create(regions, number);
	if (id) {
		regions->recent[number % REGION_RECENT].number = number;
		regions->recent[number % REGION_RECENT].id = id;
	}
	return id;
}
