/* The TLB beside a slow one that moves pages in plain lists, and on walks whose misses are known.
 */
#include "cache/tlb.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#define MOST 600

/* The pages of a level, the newest first. */
struct slow_level {
	uint64_t pages[MOST];
	uint32_t n, most;
};
struct slow_tlb {
	struct slow_level near, far;
};

static bool slow_use(struct slow_level *level, uint64_t page)
{
	uint32_t at = 0;
	while (at < level->n && level->pages[at] != page)
		at++;
	const bool had = at < level->n;
	if (!had && level->n < level->most)
		level->n++;
	if (!had)
		at = level->n - 1;
	memmove(level->pages + 1, level->pages, at * sizeof(*level->pages));
	level->pages[0] = page;
	return had;
}

static enum tlb_found slow_access(struct slow_tlb *tlb, uint64_t page)
{
	return slow_use(&tlb->near, page)  ? TLB_NEAR
	       : slow_use(&tlb->far, page) ? TLB_FAR
					   : TLB_WALK;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Pages by chance, of a set of a size by chance, in runs, with steps, and at the ends of the range.
 */
static uint64_t next_page(uint64_t *random, uint64_t page, uint64_t among)
{
	const uint64_t what = next_random(random) % 8;
	return what < 3    ? next_random(random) % among
	       : what == 3 ? page + 1
	       : what == 4 ? page
	       : what == 5 ? page + next_random(random) % 4
	       : what == 6 ? UINT64_MAX - next_random(random) % 4
			   : next_random(random) % among << 20;
}

Test(tlb, is_that_of_plain_lists)
{
	uint64_t random = 1;
	for (int round = 0; round < 200; round++) {
		struct slow_tlb slow = {.near.most = 1 + (uint32_t)(next_random(&random) % 70),
					.far.most = 1 + (uint32_t)(next_random(&random) % MOST)};
		struct tlb *tlb = tlb_create(slow.near.most, slow.far.most);
		const uint64_t among = 1 + next_random(&random) % 1500;
		uint64_t page = 0;
		cr_assert(tlb);
		for (int i = 0; i < 5000; i++) {
			page = next_page(&random, page, among);
			const enum tlb_found found = tlb_access(tlb, page),
					     truth = slow_access(&slow, page);
			cr_assert_eq(found, truth, "round %d, access %d, page %llu: %d, not %d",
				     round, i, (unsigned long long)page, found, truth);
		}
		tlb_destroy(tlb);
	}
}

/* Rounds over n pages: below a level's reach it has all of them behind the first round, above it
 * none, since the oldest one goes just before it is wanted. */
Test(tlb, rounds_over_pages)
{
	static const struct {
		uint32_t pages;
		enum tlb_found found; /* behind the first round */
	} cases[] = {{1, TLB_NEAR},   {64, TLB_NEAR},   {65, TLB_FAR},
		     {2048, TLB_FAR}, {2049, TLB_WALK}, {5000, TLB_WALK}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tlb *tlb = tlb_create(64, 2048);
		cr_assert(tlb);
		for (uint32_t page = 0; page < cases[i].pages; page++)
			cr_assert_eq(tlb_access(tlb, page * 7), TLB_WALK);
		for (int round = 0; round < 3; round++)
			for (uint32_t page = 0; page < cases[i].pages; page++)
				cr_assert_eq(tlb_access(tlb, page * 7), cases[i].found, "%u pages",
					     cases[i].pages);
		tlb_destroy(tlb);
	}
	tlb_destroy(NULL);
}
