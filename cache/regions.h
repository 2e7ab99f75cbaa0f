/* Line numbers in 32 bits.
 *
 * Programs use few regions of a large address space.  Each region of 2^20 lines (64 MiB) that is
 * met gets a number, from 1, which takes the place of the address bits above.  All lines of a group
 * (line modulo `groups`, a power of two) are numbered together, without the bits that they have in
 * common; so there is room for 2^32 × groups lines.  0 is no line. */
#pragma once

#include "base/u64_map.h"
#include "cache/geometry.h"

#define REGION_BITS 20
#define REGION_RECENT 256

struct region {
	uint64_t number; /* line >> REGION_BITS */
	/* The set of its first line of a group, among the group's sets of a level. */
	uint32_t first_set[CACHE_LEVELS];
};

struct regions {
	unsigned group_bits, shift; /* shift: bits of a compact number that are within the region */
	uint32_t sets[CACHE_LEVELS]; /* of a group */
	struct region *items;
	size_t n_items, cap_items;
	struct u64_map ids; /* number + 1 → id */
	struct {
		uint64_t number;
		uint32_t id;
	} recent[REGION_RECENT];
};

/* `groups`: a power of two that divides the sets of all levels. */
void regions_init(struct regions *regions, const struct geometry *geometry, unsigned groups);
void regions_deinit(struct regions *regions);

/* Adds the region of a line, or finds it; 0: no room, or no memory. */
uint32_t regions_add(struct regions *regions, uint64_t number);

/* The compact number of a line; 0: there is none left. */
static inline uint32_t regions_compact(struct regions *regions, uint64_t line)
{
	uint64_t number = line >> REGION_BITS;
	unsigned slot = number % REGION_RECENT;
	uint32_t id = regions->recent[slot].id;
	if (__builtin_expect(!id || regions->recent[slot].number != number, 0))
		id = regions_add(regions, number);
	uint32_t low = (line & ((UINT64_C(1) << REGION_BITS) - 1)) >> regions->group_bits;
	return id ? id << regions->shift | low : 0;
}

/* The line of a compact number in a group. */
static inline uint64_t regions_line(const struct regions *regions, uint32_t compact, unsigned group)
{
	uint32_t low = compact & ((UINT32_C(1) << regions->shift) - 1);
	return regions->items[compact >> regions->shift].number << REGION_BITS |
	       (uint64_t)low << regions->group_bits | group;
}

/* Number that the set of a line, in its group and level, has modulo the group's sets. */
static inline uint32_t regions_set_sum(const struct regions *regions, uint32_t compact, int level)
{
	uint32_t low = compact & ((UINT32_C(1) << regions->shift) - 1);
	return regions->items[compact >> regions->shift].first_set[level] + low;
}
