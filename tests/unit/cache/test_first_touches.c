#include "cache/first_touches.h"

#include "cache/hierarchy.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* Of a hierarchy behind a gap, beside one that has seen all. */
struct pair {
	struct geometry geometry;
	struct hierarchy *whole, *gapped;
	bool crossed_whole, crossed_gapped, missed;
};

static void note_whole(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct pair *pair = context;
	pair->crossed_whole |= event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE;
}

static void note_gapped(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct pair *pair = context;
	pair->crossed_gapped |= event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE;
	pair->missed |= event == TRAFFIC_L2_READ || event == TRAFFIC_L2_WRITE_ALLOCATE;
}

static void pair_init(struct pair *pair, const char *caches)
{
	*pair = (struct pair){0};
	cr_assert_null(geometry_parse(caches, &pair->geometry));
	pair->whole = hierarchy_create(&pair->geometry, 1, UINT64_MAX, false, note_whole, pair);
	pair->gapped = hierarchy_create(&pair->geometry, 1, UINT64_MAX, false, note_gapped, pair);
	cr_assert(pair->whole && pair->gapped);
}

static void pair_deinit(struct pair *pair)
{
	hierarchy_destroy(pair->whole);
	hierarchy_destroy(pair->gapped);
}

/* The access, in the one that sees all; `seen`: in the other one, too. */
static void both(struct pair *pair, uint64_t line, bool store, bool seen)
{
	const enum cache_access kind = store ? CACHE_STORE : CACHE_LOAD;
	pair->crossed_whole = pair->crossed_gapped = pair->missed = false;
	hierarchy_access(pair->whole, 0, line, kind, 0, 8, 1);
	if (seen)
		hierarchy_access(pair->gapped, 0, line, kind, 0, 8, 1);
}

/* What is told to be known is what a simulation without a gap would have seen. */
Test(first_touches, what_is_known_is_true)
{
	struct pair pair;
	unsigned n_known = 0, n_unknown = 0, n_wrong = 0, n_told = 0;
	srandom(3);
	for (int round = 0; round < 60; round++) {
		pair_init(&pair, "L1=4K:2,L2=16K:4,L3=64K:8");
		struct first_touches *touches = first_touches_create(&pair.geometry, UINT64_MAX);
		cr_assert_not_null(touches);
		const uint64_t span = UINT64_C(1) << (8 + random() % 6), step = 1 + random() % 3;
		uint64_t at = 0;
		for (int gap = 0; gap < 6; gap++) {
			for (int i = 0; i < 3000; i++, at += step)
				both(&pair, (random() % 4 ? at : (uint64_t)random()) % span,
				     random() % 2, false);
			first_touches_begin(touches);
			for (int i = 0; i < 6000; i++, at += step) {
				const uint64_t line =
					(random() % 4 ? at : (uint64_t)random()) % span;
				both(&pair, line, random() % 2, true);
				if (!pair.missed)
					continue;
				const struct touch touch = first_touches_note(touches, line);
				const bool wrong = pair.crossed_whole != pair.crossed_gapped;
				if (touch.unknown[GAP_LAST])
					n_unknown++, n_told += wrong;
				else
					n_known++, n_wrong += wrong;
			}
		}
		first_touches_destroy(touches);
		pair_deinit(&pair);
	}
	cr_expect_lt(n_wrong, n_known / 500, "%u of %u", n_wrong, n_known);
	cr_expect_gt(n_told, 100, "the gaps made no difference: %u of %u", n_told, n_unknown);
	cr_expect_gt(n_known, 3 * n_unknown, "%u and %u", n_known, n_unknown);
}

Test(first_touches, nothing_is_unknown_before_a_gap)
{
	struct geometry geometry;
	cr_assert_null(geometry_parse("L1=4K:2,L2=16K:4,L3=64K:8", &geometry));
	struct first_touches *touches = first_touches_create(&geometry, 1);
	for (uint64_t line = 0; line < 64 * 100; line += 64) {
		const struct touch touch = first_touches_note(touches, line);
		cr_expect(!touch.unknown[GAP_PRIVATE] && !touch.unknown[GAP_LAST]);
		cr_expect(touch.settled[GAP_PRIVATE] && touch.settled[GAP_LAST]);
	}
	first_touches_destroy(touches);
}

/* A class settles when it is full of new lines, or when none come any more. */
Test(first_touches, settles)
{
	struct geometry geometry;
	cr_assert_null(geometry_parse("L1=4K:2,L2=64K:4,L3=1M:16", &geometry));
	struct first_touches *touches = first_touches_create(&geometry, UINT64_MAX);
	first_touches_begin(touches);
	unsigned n = 0;
	while (!first_touches_note(touches, 64 * n).settled[GAP_LAST])
		n++;
	/* 1 MiB has 256 lines of a class */
	cr_expect(n >= 384 && n <= 386, "%u", n);
	first_touches_begin(touches);
	n = 0;
	while (!first_touches_note(touches, 64 * (n % 3)).settled[GAP_LAST])
		n++;
	cr_expect_eq(n, 256);
	first_touches_destroy(touches);
}
