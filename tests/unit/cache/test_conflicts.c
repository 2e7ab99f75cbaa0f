/* Conflicts of sets, against a fully associative cache that stands beside the simulated one. */
#include "cache/conflicts.h"

#include "cache/hierarchy.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define LINES 8192u
#define WHOS 3
#define CLASSES_OF_2 (1ull << 5 | 1ull << 40)

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* Slow and obvious: all lines of a fully associative LRU cache with the time of their last use. */
struct whole_cache {
	uint64_t capacity, n, time;
	uint64_t used[LINES]; /* 0: not here */
	bool changed[LINES];  /* and it has been here since */
	bool written[LINES];  /* by the cache with sets, since it was changed */
	uint32_t writer[LINES];
	bool was_here; /* the line at hand, before its last use */
};

static void whole_use(struct whole_cache *cache, uint32_t line)
{
	cache->was_here = cache->used[line] > 0;
	if (!cache->was_here && cache->n == cache->capacity) {
		uint32_t oldest = 0;
		for (uint32_t i = 0; i < LINES; i++)
			if (cache->used[i] &&
			    (!cache->used[oldest] || cache->used[i] < cache->used[oldest]))
				oldest = i;
		cache->used[oldest] = 0;
		cache->changed[oldest] = false;
		cache->n--;
	}
	cache->n += !cache->was_here;
	cache->used[line] = ++cache->time;
}

struct sides {
	struct conflicts *conflicts;
	struct whole_cache cache;
	int n_levels;
	double moved[WHOS], told[WHOS], true_moved[WHOS], truth[WHOS];
};

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct sides *sides = context;
	struct whole_cache *cache = &sides->cache;
	const enum traffic read = sides->n_levels == 3 ? TRAFFIC_L3_READ : TRAFFIC_L2_READ;
	struct conflict told = {0};
	if (conflicts_hear(sides->n_levels, event))
		told = conflicts_event(sides->conflicts, sides->n_levels, event, who, line);
	sides->moved[told.who] += (double)told.moved;
	sides->told[told.who] += (double)told.conflicts;
	const bool moves = event >= TRAFFIC_MEM_READ && event <= TRAFFIC_MEM_NON_TEMPORAL;
	sides->true_moved[who] += moves;
	if (event == read || event == read + 1 || event == read + 2)
		whole_use(cache, (uint32_t)line);
	if (event == read + 2) {
		sides->truth[cache->writer[line]] += cache->written[line] && cache->changed[line];
		cache->changed[line] = true;
		cache->written[line] = false;
	}
	if (event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE)
		sides->truth[who] += cache->was_here;
	if (event == TRAFFIC_MEM_WRITE_BACK) {
		cache->written[line] = true;
		cache->writer[line] = who;
	}
}

static struct sides *run(const char *text, uint64_t classes, size_t max_lines,
			 uint64_t (*line)(uint64_t *state, uint64_t i), uint64_t n)
{
	struct sides *sides = calloc(1, sizeof(*sides));
	struct geometry geometry;
	cr_assert_null(geometry_parse(text, &geometry));
	const struct cache_level *last = &geometry.levels[geometry.n_levels - 1];
	sides->n_levels = geometry.n_levels;
	sides->cache.capacity = last->bytes / CACHE_LINE;
	sides->conflicts = conflicts_create(sides->cache.capacity, classes, max_lines);
	struct hierarchy *hierarchy = hierarchy_create(&geometry, 1, classes, false, note, sides);
	uint64_t state = 20261122;
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t at = line(&state, i);
		const uint64_t random = next_random(&state);
		hierarchy_access(hierarchy, 0, at, random % 3 ? CACHE_LOAD : CACHE_STORE, 0, 8,
				 random / 3 % WHOS);
	}
	hierarchy_finish(hierarchy);
	hierarchy_destroy(hierarchy);
	cr_expect_eq(conflicts_lost(sides->conflicts), 0);
	return sides;
}

static void end(struct sides *sides)
{
	conflicts_destroy(sides->conflicts);
	free(sides);
}

/* ---- ways to go ---- */

/* A hot part, a strided walk, and the whole of it, by turns. */
static uint64_t mixed(uint64_t *state, uint64_t i)
{
	const uint64_t random = next_random(state);
	switch (i / 512 % 3) {
	case 0:
		return random % 700;
	case 1:
		return i * 64 % 2048;
	default:
		return random % 4096;
	}
}

/* Every 64th line, all of one class: 100 of them. */
static uint64_t one_class(uint64_t *state, uint64_t i)
{
	(void)state;
	return 5 + i % 100 * 64;
}

static uint64_t sweep_of_1500(uint64_t *state, uint64_t i)
{
	(void)state;
	return i % 1500;
}

/* ---- tests ---- */

Test(conflicts, all_classes_are_told_exactly)
{
	static const char *const geometries[] = {
		"L1=4K:4,L2=64K:2",
		"L1=4K:4,L2=64K:16",
		"L1=4K:2,L2=16K:2,L3=64K:4",
		"L1=4K:2,L2=16K:2,L3=64K:4:victim",
		"L1=4K:2,L2=16K:2,L3=64K:4:inclusive",
	};
	for (size_t g = 0; g < sizeof(geometries) / sizeof(*geometries); g++) {
		struct sides *sides = run(geometries[g], UINT64_MAX, LINES, mixed, 60000);
		double all = 0;
		for (int who = 0; who < WHOS; who++) {
			cr_expect_eq(sides->told[who], sides->truth[who], "%s: %g, not %g",
				     geometries[g], sides->told[who], sides->truth[who]);
			/* the end of the buffers apart, every line that moves is known */
			cr_expect_eq(sides->moved[who], sides->true_moved[who], "%s",
				     geometries[g]);
			all += sides->truth[who];
		}
		cr_expect(all > 100, "%s: %g are too few to test", geometries[g], all);
		end(sides);
	}
}

Test(conflicts, thinned_lines_have_nearly_the_same_share)
{
	struct sides *sides = run("L1=4K:4,L2=64K:2", UINT64_MAX, LINES / 8, mixed, 200000);
	for (int who = 0; who < WHOS; who++) {
		const double told = sides->told[who] / sides->moved[who],
			     truth = sides->truth[who] / sides->true_moved[who];
		cr_expect(fabs(told - truth) < 0.08, "%g, not %g", told, truth);
	}
	end(sides);
}

/* Lines of one class alone: a sample of two classes must not take its neighbours' for as many. */
Test(conflicts, a_walk_in_one_class_is_all_conflicts)
{
	struct sides *sides = run("L1=4K:4,L2=64K:4", CLASSES_OF_2, LINES, one_class, 20000);
	double told = 0, moved = 0;
	for (int who = 0; who < WHOS; who++) {
		told += sides->told[who];
		moved += sides->moved[who];
	}
	cr_expect(moved > 19000, "%g", moved);
	/* all but the first round of reads and the last of write-backs */
	cr_expect(told > 0.97 * moved && told <= moved, "%g of %g", told, moved);
	end(sides);
}

/* A sweep over more than the cache holds has no conflicts, however few classes are seen. */
Test(conflicts, a_sweep_is_none)
{
	static const uint64_t classes[] = {UINT64_MAX, CLASSES_OF_2, 1ull << 7};
	for (size_t i = 0; i < 3; i++) {
		struct sides *sides =
			run("L1=4K:4,L2=64K:4", classes[i], LINES, sweep_of_1500, 60000);
		double told = 0, moved = 0;
		for (int who = 0; who < WHOS; who++) {
			told += sides->told[who];
			moved += sides->moved[who];
		}
		cr_expect(moved > 500, "%g", moved);
		cr_expect_eq(told, 0);
		end(sides);
	}
}
