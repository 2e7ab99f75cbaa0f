/* Against the C library's sort. */
#include "base/sort_by.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

struct item {
	char before[3];
	uint32_t place; /* at first */
	uint64_t key;
	char behind;
};

static uint64_t key_of(const void *item)
{
	return ((const struct item *)item)->key;
}

static int compare(const void *left, const void *right)
{
	const struct item *a = left, *b = right;
	return a->key != b->key ? (a->key < b->key ? -1 : 1)
				: (a->place > b->place) - (a->place < b->place);
}

static void expect_sorted(struct item *items, size_t n)
{
	struct item *wanted = malloc((n + 1) * sizeof(*wanted));
	memcpy(wanted, items, n * sizeof(*items));
	qsort(wanted, n, sizeof(*wanted), compare);
	cr_assert(rf_sort_by(items, n, sizeof(*items), key_of));
	for (size_t i = 0; i < n; i++)
		cr_assert(items[i].key == wanted[i].key && items[i].place == wanted[i].place &&
			  items[i].behind == wanted[i].behind);
	free(wanted);
}

Test(sort_by, sorts_as_any_other_sort)
{
	uint64_t state = 3;
	for (int round = 0; round < 600; round++) {
		const size_t n = random_number(&state) % (round % 3 ? 40 : 2000);
		/* keys that differ in some of their bits alone */
		const uint64_t mask = random_number(&state) & random_number(&state) &
				      (round % 5 ? UINT64_MAX : 0xff00),
			       common = random_number(&state) & ~mask;
		struct item *items = calloc(n + 1, sizeof(*items));
		for (uint32_t i = 0; i < n; i++) {
			items[i].place = i;
			items[i].key = common | (random_number(&state) & mask);
			items[i].behind = (char)i;
		}
		expect_sorted(items, n);
		expect_sorted(items, n); /* in order already */
		free(items);
	}
	cr_assert(rf_sort_by(NULL, 0, sizeof(struct item), key_of));
}
