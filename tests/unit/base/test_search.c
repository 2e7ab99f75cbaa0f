/* The binary search against counting one by one. */
#include "base/search.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

static int ascending(const void *left, const void *right)
{
	const unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;
	return (a > b) - (a < b);
}

Test(search, finds_what_counting_finds)
{
	uint64_t state = 1;
	for (int round = 0; round < 2000; round++) {
		unsigned items[40];
		const size_t n = random_number(&state) % 41;
		for (size_t i = 0; i < n; i++)
			items[i] = random_number(&state) % 30;
		qsort(items, n, sizeof(*items), ascending);
		for (unsigned key = 0; key < 31; key++) {
			size_t below = 0;
			while (below < n && items[below] < key)
				below++;
			cr_assert_eq(rf_search(n, i, items[i] < key), below);
		}
	}
}

Test(search, none_of_no_items)
{
	cr_assert_eq(rf_search(0, i, i < 1), 0);
}
