/* Open addressing with linear probing; a table grows by a half when three quarters of its cells are
 * used: the largest of them are as many bytes as all that they lead to, and no more of it is to be
 * empty than look-ups need. */
#include "base/u64_map.h"

#include <stdlib.h>

/* Cells with key 0 are empty; an address of 0 is kept as one that no program has. */
#define ZERO (1ull << 63)

static uint64_t stored(uint64_t key)
{
	return key ? key : ZERO;
}

/* One of n, for a product of a key.  Only its upper bits depend on all bits of the key, so the
 * number is made of these: keys may be pairs that differ in their upper half alone. */
static size_t by_upper_bits(uint64_t product, size_t n)
{
	return (size_t)((unsigned __int128)product * n >> 64);
}

static size_t cell_of(uint64_t key, size_t n_cells)
{
	return by_upper_bits(key * 0x9e3779b97f4a7c15u, n_cells);
}

static size_t next_cell(const struct u64_map *map, size_t i)
{
	return i + 1 < map->n_cells ? i + 1 : 0;
}

/* How many cells one comes to on the way from one to the other. */
static size_t cells_between(const struct u64_map *map, size_t from, size_t to)
{
	return to >= from ? to - from : to + map->n_cells - from;
}

/* Keys near each other, as those of one line of code, have their bits in one word.  Pages, whose
 * low bits are all the same, have other bits nevertheless. */
static size_t filter_bit(uint64_t key, size_t n_cells)
{
	const size_t word = by_upper_bits((key >> 6) * 0xd6e8feb86659fd93u, n_cells / 8);
	return word * 64 + ((key ^ key >> 12) & 63);
}

void u64_map_deinit(struct u64_map *map)
{
	free(map->cells);
	free(map->filter);
	*map = (struct u64_map){0};
}

uint32_t *u64_map_find(const struct u64_map *map, uint64_t key)
{
	if (!map->n_cells)
		return NULL;
	key = stored(key);
	const size_t bit = filter_bit(key, map->n_cells);
	if (!(map->filter[bit / 64] >> bit % 64 & 1))
		return NULL;
	for (size_t i = cell_of(key, map->n_cells);; i = next_cell(map, i)) {
		if (!map->cells[i].key)
			return NULL;
		if (map->cells[i].key == key)
			return &map->cells[i].value;
	}
}

static void place(struct u64_map *map, uint64_t key, uint32_t value)
{
	size_t i = cell_of(key, map->n_cells);
	const size_t bit = filter_bit(key, map->n_cells);
	map->filter[bit / 64] |= 1ull << bit % 64;
	while (map->cells[i].key && map->cells[i].key != key)
		i = next_cell(map, i);
	if (!map->cells[i].key)
		map->n_used++;
	map->cells[i].key = key;
	map->cells[i].value = value;
}

/* Half as many cells again, in a multiple of 8: the filter has 8 bits for each, in whole words. */
#define WITH_HALF(n) ((n) / 16 * 24)

static bool grow(struct u64_map *map)
{
	struct u64_map bigger = {.n_cells = map->n_cells ? WITH_HALF(map->n_cells) : 256};
	bigger.cells = calloc(bigger.n_cells, sizeof(*bigger.cells));
	bigger.filter = calloc(bigger.n_cells / 8, sizeof(*bigger.filter));
	if (!bigger.cells || !bigger.filter) {
		u64_map_deinit(&bigger);
		return false;
	}
	for (size_t i = 0; i < map->n_cells; i++)
		if (map->cells[i].key)
			place(&bigger, map->cells[i].key, map->cells[i].value);
	u64_map_deinit(map);
	*map = bigger;
	return true;
}

bool u64_map_set(struct u64_map *map, uint64_t key, uint32_t value)
{
	if (map->n_used * 4 >= map->n_cells * 3 && !grow(map))
		return false;
	place(map, stored(key), value);
	return true;
}

/* Empties a cell: those behind it that it kept from their place move up. */
static void empty(struct u64_map *map, size_t i)
{
	for (size_t j = next_cell(map, i); map->cells[j].key; j = next_cell(map, j)) {
		const size_t home = cell_of(map->cells[j].key, map->n_cells);
		if (cells_between(map, home, j) >= cells_between(map, i, j)) {
			map->cells[i] = map->cells[j];
			i = j;
		}
	}
	map->cells[i].key = 0;
	map->n_used--;
}

void u64_map_remove(struct u64_map *map, uint64_t key)
{
	if (!map->n_cells)
		return;
	key = stored(key);
	for (size_t i = cell_of(key, map->n_cells); map->cells[i].key; i = next_cell(map, i))
		if (map->cells[i].key == key) {
			empty(map, i);
			return;
		}
}
