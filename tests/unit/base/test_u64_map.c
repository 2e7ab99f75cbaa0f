#include "base/u64_map.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define N 20000

/* Against the plainest reference there is: an array of pairs searched from its end. */
Test(u64_map, agrees_with_a_list)
{
	static struct {
		uint64_t key;
		uint32_t value;
		bool there;
	} list[N];
	struct u64_map map = {0};
	uint64_t state = 88172645463325252u;
	for (uint32_t i = 0; i < N; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		list[i].key = 0x400000 + state % (4 * N); /* dense, as program counters are */
		list[i].value = i;
		list[i].there = true;
		for (uint32_t j = 0; j < i; j++)
			if (list[j].key == list[i].key)
				list[j].there = false;
		cr_assert(u64_map_set(&map, list[i].key, i));
		if (i % 3 == 0) {
			u64_map_remove(&map, list[i].key);
			list[i].there = false;
		}
	}
	for (uint32_t i = 0; i < N; i++) {
		const uint32_t *found = u64_map_find(&map, list[i].key);
		bool any = false;
		for (uint32_t j = 0; j < N && list[i].there; j++)
			any |= list[j].there && list[j].key == list[i].key;
		if (list[i].there)
			cr_assert(found && *found == list[i].value && any);
	}
	for (uint64_t key = 1; key < 1000; key++)
		cr_assert_null(u64_map_find(&map, key));
	u64_map_deinit(&map);
	cr_assert_null(u64_map_find(&map, 0x400000));
	u64_map_remove(&map, 0x400000);
}

Test(u64_map, removed_keys_are_not_found)
{
	struct u64_map map = {0};
	cr_assert(u64_map_set(&map, 5, 1));
	u64_map_remove(&map, 5);
	cr_assert_null(u64_map_find(&map, 5));
	cr_assert(u64_map_set(&map, 5, 2));
	cr_assert_eq(*u64_map_find(&map, 5), 2);
	u64_map_deinit(&map);
}

/* Keys come and go; in a table that is nearly as full as it may be, others move up. */
Test(u64_map, keys_that_are_left_are_found)
{
	enum { KEYS = 700, ROUNDS = 100000 };
	static uint32_t values[KEYS]; /* 0: not there */
	struct u64_map map = {0};
	uint64_t state = 88172645463325252u, n = 0;
	for (uint32_t round = 1; round < ROUNDS; round++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		const uint32_t k = (uint32_t)((state >> 20) % KEYS);
		const bool removes = state >> 40 & 1;
		if (removes)
			u64_map_remove(&map, k);
		else
			cr_assert(u64_map_set(&map, k, round));
		n += (values[k] && removes) ? -1ull : !values[k] && !removes;
		values[k] = removes ? 0 : round;
		cr_assert_eq(map.n_used, n);
		for (uint32_t i = round % 100 ? k : 0; i < (round % 100 ? k + 1 : KEYS); i++) {
			const uint32_t *found = u64_map_find(&map, i);
			cr_assert_eq(found ? *found : 0, values[i], "key %u, round %u", i, round);
		}
	}
	u64_map_deinit(&map);
}

/* The longest way that a look-up has to go. */
static size_t longest_run(const struct u64_map *map)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < 2 * map->n_cells; i++) {
		run = map->cells[i % map->n_cells].key ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Numbers of things, of pairs, of pages, of lines: each step that a key can have. */
Test(u64_map, keys_of_all_steps_are_spread)
{
	for (int step = 0; step < 48; step++) {
		struct u64_map map = {0};
		for (uint64_t i = 1; i <= 10000; i++)
			cr_assert(u64_map_set(&map, 3 + (i << step), (uint32_t)i));
		cr_assert_lt(longest_run(&map), 200, "steps of 2 to the %d: %zu", step,
			     longest_run(&map));
		u64_map_deinit(&map);
	}
}
