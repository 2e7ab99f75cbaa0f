/* Overlapping ranges made flat, against looking at each place for its highest rank. */
#include "symbols/overlaps.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define PLACES 200
#define MOST 40

struct seen {
	const struct ranked_range *at[PLACES];
	uint64_t end; /* of the last piece */
};

static struct rf_error *note(void *context, uint64_t start, uint64_t end,
			     const struct ranked_range *top)
{
	struct seen *seen = context;
	cr_assert(start >= seen->end && start < end && end <= PLACES, "pieces ascend");
	for (uint64_t place = start; place < end; place++)
		seen->at[place] = top;
	seen->end = end;
	return NULL;
}

static struct rf_error *refuse(void *context, uint64_t start, uint64_t end,
			       const struct ranked_range *top)
{
	++*(int *)context;
	return rf_error_no_memory();
}

static uint32_t highest_rank(const struct ranked_range *ranges, size_t n, uint64_t place)
{
	uint32_t rank = 0;
	for (size_t i = 0; i < n; i++)
		if (place >= ranges[i].start && place < ranges[i].end && ranges[i].rank > rank)
			rank = ranges[i].rank;
	return rank;
}

Test(overlaps, each_place_is_of_the_highest_rank)
{
	srand(7);
	for (int round = 0; round < 500; round++) {
		struct ranked_range ranges[MOST];
		struct seen seen = {.end = 0};
		const size_t n = (size_t)rand() % MOST;
		for (size_t i = 0; i < n; i++) {
			ranges[i].start = (uint64_t)(rand() % (PLACES - 1));
			ranges[i].end =
				ranges[i].start + 1 + (uint64_t)rand() % (PLACES - ranges[i].start);
			ranges[i].rank = 1 + (uint32_t)rand() % 10;
		}
		cr_assert_null(overlaps_flatten(ranges, n, note, &seen));
		for (uint64_t place = 0; place < PLACES; place++) {
			const struct ranked_range *top = seen.at[place];
			cr_assert_eq(top ? top->rank : 0, highest_rank(ranges, n, place));
			cr_assert(!top || (place >= top->start && place < top->end));
		}
	}
}

Test(overlaps, an_error_ends_it)
{
	struct ranked_range ranges[] = {{0, 1, 1, NULL}, {5, 6, 1, NULL}};
	int calls = 0;
	cr_assert_not_null(overlaps_flatten(ranges, 2, refuse, &calls));
	cr_assert_eq(calls, 1);
}
