/* Which value belongs to which range of addresses.
 *
 * Ranges never overlap: a new one replaces what it covers, to the byte, and what is left of an
 * older one on either side stays. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERVAL_RECENT 256

struct interval {
	uint64_t start, end;
	uint32_t value;
};

/* Sorted, in chunks, so that a million blocks of a heap may come and go.  All zero: empty. */
struct interval_map {
	struct interval_chunk {
		/* None of its intervals begins below, none of the chunk before ends above; of the
		 * first chunk without meaning. */
		uint64_t from;
		size_t n; /* at least 1 */
		struct interval *items;
	} * chunks;
	size_t n_chunks, cap_chunks;
	/* Chunks that were met last, by some bits of the address. */
	uint32_t recent[INTERVAL_RECENT];
};
void interval_map_deinit(struct interval_map *map);

/* [start, end) has that value from now on.  An empty range changes nothing.  False when memory is
 * short: then some of the range may have no value. */
bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value);
/* [start, end) has no value any more.  False when memory is short: then what is behind it may have
 * none either. */
bool interval_map_remove(struct interval_map *map, uint64_t start, uint64_t end);

/* The interval that holds address, as it was set, or what is left of it; NULL: none.  Its value may
 * be changed; it stays where it is until a range is set or removed. */
struct interval *interval_map_find(struct interval_map *map, uint64_t address);
/* The first interval that ends above address and starts below limit, which is above address. */
struct interval *interval_map_next(struct interval_map *map, uint64_t address, uint64_t limit);
