/* Hash map from 64-bit keys (not 0) to 32-bit values: open addressing, linear probing.  A bit
 * filter in front answers most look-ups of absent keys without touching the cells. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of 12 bytes: the largest maps are of places in code, by the hundred thousand. */
struct u64_map_cell {
	uint64_t key;
	uint32_t value;
} __attribute__((packed, aligned(4)));

struct u64_map {
	struct u64_map_cell *cells;
	size_t n_cells; /* a multiple of 8, or 0 */
	size_t n_used;
	uint64_t *filter; /* 8 bits for each cell; set for the hash of each key ever added */
};

void u64_map_deinit(struct u64_map *map);
/* Returns the value's place, or NULL when the key is not there.  Valid until the next change. */
uint32_t *u64_map_find(const struct u64_map *map, uint64_t key);
/* Sets key → value (replaces).  Returns false when memory is short. */
bool u64_map_set(struct u64_map *map, uint64_t key, uint32_t value);
void u64_map_remove(struct u64_map *map, uint64_t key);
