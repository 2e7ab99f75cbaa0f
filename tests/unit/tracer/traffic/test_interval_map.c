#include "tracer/traffic/interval_map.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
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

static void assert_same_at(const struct interval_map *map, const struct cell *cells, uint64_t at)
{
	struct interval found;
	const bool is_there = interval_map_find(map, BASE + at, &found);
	cr_assert_eq(is_there, cells[at].serial != 0, "byte %#lx", (long)at);
	if (!is_there)
		return;
	const struct interval expected = reference_find(cells, at);
	cr_assert_eq(found.value, expected.value, "byte %#lx", (long)at);
	cr_assert_eq(found.start, expected.start, "byte %#lx: start", (long)at);
	cr_assert_eq(found.end, expected.end, "byte %#lx: end", (long)at);
}

static void assert_same_next(const struct interval_map *map, const struct cell *cells, uint64_t at,
			     uint64_t limit)
{
	struct interval found;
	const bool is_there = interval_map_next(map, BASE + at, BASE + limit, &found);
	while (at < limit && !cells[at].serial)
		at++;
	cr_assert_eq(is_there, at < limit);
	if (is_there)
		cr_assert_eq(found.start, reference_find(cells, at).start);
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
			struct interval old;
			cr_assert(interval_map_change(map, BASE + start, value, &old));
			cr_assert(old.start == whole.start && old.end == whole.end &&
				  old.value == whole.value);
			for (uint64_t at = whole.start - BASE; at < whole.end - BASE; at++)
				cells[at].value = value;
		} else if (any(8) == 0) {
			struct interval old;
			const bool begins = cells[start].serial &&
					    reference_find(cells, start).start == BASE + start;
			const struct interval whole = reference_find(cells, start);
			cr_assert_eq(interval_map_mark(map, BASE + start, 8, &old), begins);
			for (uint64_t at = start; begins && at < whole.end - BASE; at++)
				cells[at].value |= 8;
			if (begins)
				cr_assert(old.start == whole.start && old.end == whole.end &&
					  old.value == whole.value);
		} else {
			bool all_dead = true;
			for (uint64_t at = start; at < end; at++)
				all_dead &= !cells[at].serial || cells[at].value & 8;
			const bool done =
				interval_map_set_over(map, BASE + start, BASE + end, value, 8);
			cr_assert(!done || all_dead);
			cr_assert(done || interval_map_set(map, BASE + start, BASE + end, value));
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
		struct interval_map *map = interval_map_create();
		memset(cells, 0, SIZE * sizeof(*cells));
		most_size = round % 2 ? LARGEST : 100; /* without and with spans */
		random_changes(map, cells, 2000);
		for (uint64_t at = 0; at < SIZE; at += 7)
			assert_same_at(map, cells, at);
		interval_map_destroy(map);
	}
	free(cells);
}

Test(interval_map, replaces_to_the_byte)
{
	struct interval_map *map = interval_map_create();
	struct interval found;
	cr_assert(interval_map_set(map, 100, 200, 1));
	cr_assert(interval_map_set(map, 120, 121, 2));
	cr_assert(interval_map_find(map, 119, &found) && found.value == 1 && found.end == 120);
	cr_assert(interval_map_find(map, 120, &found) && found.value == 2 && found.end == 121);
	cr_assert(interval_map_find(map, 121, &found) && found.value == 1 && found.start == 121 &&
		  found.end == 200);
	cr_assert_not(interval_map_find(map, 99, &found));
	cr_assert_not(interval_map_find(map, 200, &found));
	cr_assert(interval_map_set(map, 5, 5, 3));
	cr_assert_not(interval_map_find(map, 5, &found));
	interval_map_destroy(map);
	interval_map_destroy(NULL);
}

Test(interval_map, terabytes_are_one_range)
{
	struct interval_map *map = interval_map_create();
	struct interval found;
	cr_assert(interval_map_set(map, 1ull << 40, 20ull << 40, 7));
	cr_assert(interval_map_set(map, (5ull << 40) + 3, (5ull << 40) + 35, 8));
	cr_assert(interval_map_find(map, (5ull << 40) + 2, &found) && found.value == 7);
	cr_assert(interval_map_find(map, (5ull << 40) + 3, &found) && found.value == 8);
	cr_assert(interval_map_find(map, (5ull << 40) + 35, &found) && found.value == 7 &&
		  found.end == 20ull << 40);
	cr_assert(interval_map_remove(map, 0, 1ull << 46));
	cr_assert_not(interval_map_find(map, (5ull << 40) + 3, &found));
	interval_map_destroy(map);
}
