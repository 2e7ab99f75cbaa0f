/* Which value belongs to which range of addresses.
 *
 * Ranges never overlap: a new one replaces what it covers, to the byte, and what is left of an
 * older one on either side stays.  Small ranges (heap blocks) are kept by pages, large ones
 * (mappings) in one sorted list, so that both a million small ranges and a range of terabytes are
 * cheap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	uint64_t start, end;
	uint32_t value;
};

struct interval_map;
struct interval_map *interval_map_create(void);
void interval_map_destroy(struct interval_map *map);

/* [start, end) has that value from now on.  An empty range changes nothing.  False when memory is
 * short: then some of the range may have no value. */
bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value);
/* The same, done only when it is cheap and nothing in the range has a value without the bit `dead`;
 * false when nothing was done. */
bool interval_map_set_over(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value,
			   uint32_t dead);
/* [start, end) has no value any more.  False when memory is short: then some of it may keep its
 * own. */
bool interval_map_remove(struct interval_map *map, uint64_t start, uint64_t end);
/* Changes the value of the whole interval that holds address; *out gets it as it was.  False when
 * there is none. */
bool interval_map_change(struct interval_map *map, uint64_t address, uint32_t value,
			 struct interval *out);

/* Sets bits in the value of the interval that begins at `start`; *out gets it as it was.  False
 * when none begins there. */
bool interval_map_mark(struct interval_map *map, uint64_t start, uint32_t bits,
		       struct interval *out);

/* The interval that holds address, as it was set, or what is left of it. */
bool interval_map_find(const struct interval_map *map, uint64_t address, struct interval *out);
/* The first interval that ends above address and starts below limit, which is above address. */
bool interval_map_next(const struct interval_map *map, uint64_t address, uint64_t limit,
		       struct interval *out);
