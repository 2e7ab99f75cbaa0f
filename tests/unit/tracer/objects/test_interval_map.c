#include "tracer/objects/interval_map.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint64_t any(uint64_t below)
{
	static uint64_t state;
	return random_number(&state) % below;
}

/* ---- the plainest reference there is: one cell for each byte ---- */

#define BASE 0x7f0000000000ull
#define SIZE (1u << 19) /* bytes: many pages, and room for spans */

struct cell {
	uint32_t value, serial;
}; /* serial: which call set it; 0: none */

static void reference_set(struct cell *cells, uint64_t start, uint64_t end, uint32_t value,
			  uint32_t serial)
{
	for (uint64_t i = start; i < end; i++)
		cells[i] = (struct cell){value, serial};
}

/* The bytes around `at` that were set by the same call and not replaced since, as far as they are
 * joined. */
static struct interval reference_find(const struct cell *cells, uint64_t at)
{
	uint64_t start = at, end = at + 1;
	while (start && cells[start - 1].serial == cells[at].serial)
		start--;
	while (end < SIZE && cells[end].serial == cells[at].serial)
		end++;
	return (struct interval){BASE + start, BASE + end, cells[at].value};
}

static void assert_same_at(struct interval_map *map, const struct cell *cells, uint64_t at)
{
	const struct interval *found = interval_map_find(map, BASE + at);
	cr_assert_eq(found != NULL, cells[at].serial != 0, "byte %#lx", (long)at);
	if (!found)
		return;
	const struct interval expected = reference_find(cells, at);
	cr_assert_eq(found->value, expected.value, "byte %#lx", (long)at);
	cr_assert_eq(found->start, expected.start, "byte %#lx: start", (long)at);
	cr_assert_eq(found->end, expected.end, "byte %#lx: end", (long)at);
}

static void assert_same_next(struct interval_map *map, const struct cell *cells, uint64_t at,
			     uint64_t limit)
{
	const struct interval *found = interval_map_next(map, BASE + at, BASE + limit);
	while (at < limit && !cells[at].serial)
		at++;
	cr_assert_eq(found != NULL, at < limit);
	if (found)
		cr_assert_eq(found->start, reference_find(cells, at).start);
}

#define LARGEST 200000
static uint64_t most_size;

/* Sizes as they come: blocks of a heap, pages, mappings; starts that are edges of pages more often.
 */
static void any_range(uint64_t *start, uint64_t *end)
{
	static const uint64_t sizes[] = {1, 8, 32, 100, 4096, 8192, 20000, 65536, 200000};
	uint64_t size = 1 + any(sizes[any(9)]);
	if (size > most_size)
		size = 1 + any(most_size);
	if (!any(3) && most_size == LARGEST)
		size = (size + 4095) & ~4095ull;
	*start = any(most_size == LARGEST ? SIZE : SIZE / 16);
	if (!any(3))
		*start &= ~4095ull;
	*end = *start + size < SIZE ? *start + size : SIZE;
}

static void random_changes(struct interval_map *map, struct cell *cells, uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t start, end;
		any_range(&start, &end);
		const uint32_t value = (uint32_t)any(5);
		if (any(4) == 0) {
			cr_assert(interval_map_remove(map, BASE + start, BASE + end));
			reference_set(cells, start, end, 0, 0);
		} else if (any(8) == 0 && cells[start].serial) {
			const struct interval whole = reference_find(cells, start);
			interval_map_find(map, BASE + start)->value = value;
			for (uint64_t at = whole.start - BASE; at < whole.end - BASE; at++)
				cells[at].value = value;
		} else {
			cr_assert(interval_map_set(map, BASE + start, BASE + end, value));
			reference_set(cells, start, end, value, i);
		}
		for (int check = 0; check < 20; check++)
			assert_same_at(map, cells, any(SIZE));
		assert_same_at(map, cells, start);
		if (end < SIZE)
			assert_same_at(map, cells, end);
		if (start)
			assert_same_at(map, cells, start - 1);
		const uint64_t from = any(SIZE);
		assert_same_next(map, cells, from, from + 1 + any(SIZE - from));
	}
}

Test(interval_map, agrees_with_an_array_of_bytes)
{
	struct cell *cells = calloc(SIZE, sizeof(*cells));
	for (int round = 0; round < 4; round++) {
		struct interval_map map = {0};
		memset(cells, 0, SIZE * sizeof(*cells));
		most_size = round % 2 ? LARGEST : 100; /* with and without small ones only */
		random_changes(&map, cells, round % 2 ? 2000 : 8000);
		for (uint64_t at = 0; at < SIZE; at += 7)
			assert_same_at(&map, cells, at);
		interval_map_deinit(&map);
	}
	free(cells);
}

#define BLOCKS 400
#define BLOCK 32 /* bytes, every other of them in a block */

/* Chunks that are as full as chance has it, and a range over any number of their intervals. */
Test(interval_map, takes_ranges_over_full_chunks)
{
	struct cell *cells = calloc(SIZE, sizeof(*cells));
	for (int round = 0; round < 3000; round++) {
		struct interval_map map = {0};
		const uint64_t n = 1 + any(BLOCKS), step = any(2) ? 1 : 2 * any(BLOCKS) + 1;
		memset(cells, 0, (BLOCKS + 1) * BLOCK * sizeof(*cells));
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t at = i * step % n * BLOCK;
			cr_assert(interval_map_set(&map, BASE + at, BASE + at + BLOCK / 2, 1));
			reference_set(cells, at, at + BLOCK / 2, 1, (uint32_t)i + 1);
		}
		const uint64_t start = any(n * BLOCK), size = 1 + any(n * BLOCK - start);
		cr_assert(interval_map_set(&map, BASE + start, BASE + start + size, 2));
		reference_set(cells, start, start + size, 2, BLOCKS + 1);
		for (uint64_t at = 0; at < n * BLOCK; at += 8)
			assert_same_at(&map, cells, at);
		interval_map_deinit(&map);
	}
	free(cells);
}

static void assert_at(struct interval_map *map, uint64_t at, uint64_t start, uint64_t end,
		      uint32_t value)
{
	const struct interval *found = interval_map_find(map, at);
	cr_assert(found && found->start == start && found->end == end && found->value == value);
}

Test(interval_map, replaces_to_the_byte)
{
	struct interval_map map = {0};
	cr_assert(interval_map_set(&map, 100, 200, 1));
	cr_assert(interval_map_set(&map, 120, 121, 2));
	assert_at(&map, 119, 100, 120, 1);
	assert_at(&map, 120, 120, 121, 2);
	assert_at(&map, 121, 121, 200, 1);
	cr_assert_null(interval_map_find(&map, 99));
	cr_assert_null(interval_map_find(&map, 200));
	cr_assert(interval_map_set(&map, 5, 5, 3));
	cr_assert_null(interval_map_find(&map, 5));
	interval_map_deinit(&map);
}

Test(interval_map, terabytes_are_one_range)
{
	const uint64_t low = 1ull << 40, middle = 5ull << 40, high = 20ull << 40;
	struct interval_map map = {0};
	cr_assert(interval_map_set(&map, low, high, 7));
	cr_assert(interval_map_set(&map, middle + 3, middle + 35, 8));
	assert_at(&map, middle + 2, low, middle + 3, 7);
	assert_at(&map, middle + 3, middle + 3, middle + 35, 8);
	assert_at(&map, middle + 35, middle + 35, high, 7);
	cr_assert(interval_map_remove(&map, 0, 1ull << 46));
	cr_assert_null(interval_map_find(&map, middle + 3));
	interval_map_deinit(&map);
}

#define MANY 100000

/* A growing heap, a shrinking one, and one that is taken away in part: many chunks. */
Test(interval_map, holds_many)
{
	struct interval_map map = {0};
	for (uint64_t i = 1; i <= MANY; i++) {
		cr_assert(interval_map_set(&map, BASE + 32 * i, BASE + 32 * i + 16, 1));
		cr_assert(interval_map_set(&map, BASE - 32 * i, BASE - 32 * i + 16, 2));
	}
	for (uint64_t i = 1; i <= MANY; i++) {
		assert_at(&map, BASE + 32 * i + 15, BASE + 32 * i, BASE + 32 * i + 16, 1);
		assert_at(&map, BASE - 32 * i, BASE - 32 * i, BASE - 32 * i + 16, 2);
		cr_assert_null(interval_map_find(&map, BASE + 32 * i + 16));
	}
	cr_assert(interval_map_remove(&map, BASE - 16 * MANY, BASE + 16 * MANY));
	assert_at(&map, BASE - 16 * MANY - 32, BASE - 16 * MANY - 32, BASE - 16 * MANY - 16, 2);
	const struct interval *next = interval_map_next(&map, BASE - 16 * MANY, UINT64_MAX);
	cr_assert(next && next->start == BASE + 16 * MANY && next->value == 1);
	cr_assert(interval_map_remove(&map, 0, UINT64_MAX));
	cr_assert_null(interval_map_next(&map, 0, UINT64_MAX));
	interval_map_deinit(&map);
}
