#include "cache/reuse.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define LINES 1500

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* The slow way: a list of the lines, the last used first. */
struct list {
	uint64_t lines[LINES];
	size_t n;
};

/* Returns the distance, or −1 for a first use. */
static long list_use(struct list *list, uint64_t line)
{
	size_t i = 0;
	while (i < list->n && list->lines[i] != line)
		i++;
	long distance = i < list->n ? (long)i : -1;
	list->n += i == list->n;
	memmove(&list->lines[1], &list->lines[0], i * sizeof(line));
	list->lines[0] = line;
	return distance;
}

/* Lines of a mix: near and far, in loops, the same again. */
static uint64_t mixed_line(uint64_t *random, unsigned i, unsigned mix)
{
	uint64_t far = (next_random(random) % 3) << 50;
	switch (mix) {
	case 0:
		return next_random(random) % LINES;
	case 1:
		return i % (LINES - 1);
	case 2:
		return far + next_random(random) % 8;
	case 3:
		return next_random(random) % 4 ? next_random(random) % 30
					       : next_random(random) % LINES;
	default:
		return UINT64_MAX / 2 + i / 3 % 700 * (i / 5000 % 2 + 1);
	}
}

Test(reuse, distances_are_those_of_a_list)
{
	for (unsigned mix = 0; mix < 5; mix++) {
		struct list list = {.n = 0};
		struct reuse *reuse = reuse_create(LINES, 0, NULL, NULL);
		uint64_t random = mix + 1, first = 0, forgotten = 0;
		for (unsigned i = 0; i < 60000;
		     i++) { /* ten times the numbers that there are for uses */
			uint64_t line = mixed_line(&random, i, mix);
			if (next_random(&random) % 20000 == 0) {
				reuse_forget(reuse);
				forgotten += list.n;
				list.n = 0;
			}
			long truth = list_use(&list, line);
			struct reuse_use use;
			cr_assert(reuse_access(reuse, line, &use));
			cr_assert_eq(use.first, truth < 0);
			cr_assert_eq(use.distance.all, truth < 0 ? 0 : (uint64_t)truth,
				     "mix %u, use %u: %lu, truth %ld", mix, i,
				     (unsigned long)use.distance.all, truth);
			cr_assert_eq(reuse_age(reuse, use.slot).all, 0);
			first += use.first;
		}
		cr_assert_eq(reuse_weight(reuse), 1);
		cr_assert_eq(first, forgotten + list.n);
		cr_assert_eq(reuse_lost(reuse), 0);
		reuse_destroy(reuse);
	}
}

Test(reuse, age_is_the_distance_that_a_use_would_have)
{
	struct reuse *reuse = reuse_create(100, 0, NULL, NULL);
	struct reuse_use use, later;
	cr_assert(reuse_access(reuse, 7, &use));
	for (uint64_t i = 0; i < 50; i++) {
		cr_assert_eq(reuse_age(reuse, use.slot).all, i);
		cr_assert(reuse_access(reuse, 1000 + i, &later));
	}
	cr_assert(reuse_access(reuse, 7, &later));
	cr_assert_eq(later.distance.all, 50);
	cr_assert_eq(later.slot, use.slot);
	reuse_destroy(reuse);
}

/* ---- More lines than are followed ---- */

struct follow {
	bool followed[512];
	unsigned n, n_dropped;
};

static void drop(void *context, uint32_t slot)
{
	struct follow *follow = context;
	cr_assert_lt(slot, 512);
	cr_assert(follow->followed[slot]);
	follow->followed[slot] = false;
	follow->n--;
	follow->n_dropped++;
}

Test(reuse, lines_are_thinned_to_the_bound)
{
	struct follow follow = {.n = 0};
	struct reuse *reuse = reuse_create(512, 0, drop, &follow);
	for (uint64_t line = 0; line < 100000; line++) {
		struct reuse_use use;
		if (!reuse_access(reuse, line, &use))
			continue;
		cr_assert(use.first);
		cr_assert_lt(use.slot, 512);
		cr_assert(!follow.followed[use.slot]);
		follow.followed[use.slot] = true;
		follow.n++;
		cr_assert_leq(follow.n, 512);
	}
	cr_assert_gt(follow.n_dropped, 0);
	cr_assert_geq(reuse_weight(reuse), 100000 / 512);
	cr_assert_leq(reuse_weight(reuse), 1024);
	cr_assert_float_eq((double)follow.n * reuse_weight(reuse), 100000, 20000);
	reuse_destroy(reuse);
}

/* Sweeps over n lines: each has n − 1 others between its uses. */
Test(reuse, thinned_distances_are_scaled)
{
	const uint64_t n = 200000;
	struct reuse *reuse = reuse_create(4096, 0, NULL, NULL);
	uint64_t uses = 0, sum = 0;
	for (uint64_t i = 0; i < 4 * n; i++) {
		struct reuse_use use;
		if (!reuse_access(reuse, UINT64_C(0x555500000) + i % n, &use) || i < 3 * n)
			continue;
		cr_assert(!use.first);
		uses += reuse_weight(reuse);
		sum += reuse_weight(reuse) * use.distance.all;
	}
	cr_assert_float_eq((double)uses, n, 0.06 * n);
	cr_assert_float_eq((double)sum / uses, n - 1, 0.06 * n);
	reuse_destroy(reuse);
}
