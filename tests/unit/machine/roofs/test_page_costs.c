/* What walks over pages tell of the TLBs' reach, of made-up machines. */
#include "machine/roofs/page_costs.h"

#include <criterion/criterion.h>
#include <math.h>

/* Pages that each TLB reaches, and the ns that a line takes longer in the farther one alone and in
 * none, of dependent loads; independent ones take a tenth. */
struct truth {
	uint32_t first, last;
	double second, walk;
};

static void walk_through(const struct truth *truth, const double noise[PAGE_WALKS],
			 struct page_walk walks[PAGE_WALKS])
{
	for (int i = 0; i < PAGE_WALKS; i++) {
		const uint32_t pages = 16u << i;
		const double ns = pages <= truth->first  ? 0
				  : pages <= truth->last ? truth->second
							 : truth->walk;
		walks[i] = (struct page_walk){pages, {ns + noise[i], (ns + noise[i]) / 10}};
	}
}

Test(page_costs, reach_and_costs_are_found)
{
	static const struct truth truths[] = {
		{64, 512, 1.8, 9}, {64, 2048, 1.8, 12}, {128, 4096, 2, 30}, {32, 1024, 1.5, 25}};
	static const double quiet[PAGE_WALKS] = {0};
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		struct page_walk walks[PAGE_WALKS];
		struct page_costs costs;
		walk_through(&truths[i], quiet, walks);
		page_costs_of_walks(walks, PAGE_WALKS, &costs);
		cr_expect_eq(costs.first_pages, truths[i].first, "%u", costs.first_pages);
		cr_expect_eq(costs.last_pages, truths[i].last, "%u", costs.last_pages);
		cr_expect_eq(costs.second_ns[0], truths[i].second);
		cr_expect_eq(costs.walk_ns[0], truths[i].walk);
		cr_expect_float_eq(costs.walk_ns[1], truths[i].walk / 10, 1e-9);
	}
}

/* Other load makes walks slower for a while.  A spell leaves no trace but at the end of a reach,
 * which is then taken for the number of pages before it. */
Test(page_costs, load_leaves_little_trace)
{
	const struct truth truth = {64, 4096, 2, 16};
	for (int spell = 0; spell + 1 < PAGE_WALKS; spell++) {
		double noise[PAGE_WALKS] = {0};
		struct page_walk walks[PAGE_WALKS];
		struct page_costs costs;
		noise[spell] = 40;
		walk_through(&truth, noise, walks);
		page_costs_of_walks(walks, PAGE_WALKS, &costs);
		const uint32_t slow = 16u << spell;
		cr_expect_eq(costs.first_pages, slow == truth.first ? slow / 2 : truth.first,
			     "%d: %u", spell, costs.first_pages);
		cr_expect_eq(costs.last_pages, slow == truth.last ? slow / 2 : truth.last, "%d: %u",
			     spell, costs.last_pages);
		cr_expect_eq(costs.walk_ns[0], truth.walk);
	}
}

/* Where all pages are in reach, or the nearest TLB's end is not seen, nothing is said. */
Test(page_costs, no_end_is_no_reach)
{
	static const struct truth truths[] = {{1 << 20, 1 << 20, 1, 1}, {8, 8, 5, 5}};
	static const double quiet[PAGE_WALKS] = {0};
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++) {
		struct page_walk walks[PAGE_WALKS];
		struct page_costs costs;
		walk_through(&truths[i], quiet, walks);
		page_costs_of_walks(walks, PAGE_WALKS, &costs);
		cr_expect(!costs.first_pages && !costs.last_pages && costs.walk_ns[0] == 0 &&
			  costs.second_ns[0] == 0);
	}
	struct page_costs none = {.last_pages = 1};
	page_costs_of_walks(NULL, 0, &none);
	cr_expect_eq(none.last_pages, 0);
}
