/* Lines by class of many ranks: sums class by class, and fewer classes of the same mean. */
#include "report/merge/lines.h"

#include "../../splitmix.h"
#include "base/leb128.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t table[CACHE_CLASSES][N_TRAFFIC];

static struct profile_sum_traffic packed(table lines, unsigned n)
{
	uint8_t *bytes = malloc(CACHE_CLASSES * N_TRAFFIC * LEB128_MOST), *end = bytes;
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			end = leb128_put(end, lines[k][e]);
	return (struct profile_sum_traffic){.lines = bytes, .size = (uint32_t)(end - bytes)};
}

static void read_back(const struct profile_sum_traffic *row, unsigned n, table lines)
{
	size_t at = 0;
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines[k][e] = leb128_get(row->lines, row->size, &at);
	cr_assert_eq(at, row->size);
}

Test(lines, of_random_ranks_are_added_and_reduced)
{
	uint64_t state = 20261125;
	for (int turn = 0; turn < 200; turn++) {
		const unsigned n = 1u << random_number(&state) % 7,
			       fewer = 1u << random_number(&state) % 7;
		table a, b, got;
		for (unsigned k = 0; k < n; k++)
			for (int e = 0; e < N_TRAFFIC; e++) {
				a[k][e] =
					random_number(&state) >> (random_number(&state) % 40 + 24);
				b[k][e] =
					random_number(&state) >> (random_number(&state) % 40 + 24);
			}
		struct profile_sum_traffic to = packed(a, n), more = packed(b, n);
		cr_assert(merge_lines_add(&to, &more, n));
		read_back(&to, n, got);
		for (unsigned k = 0; k < n; k++)
			for (int e = 0; e < N_TRAFFIC; e++)
				cr_assert_eq(got[k][e], a[k][e] + b[k][e]);
		if (fewer <= n) {
			cr_assert(merge_lines_reduce(&to, n, fewer));
			read_back(&to, fewer, got);
			for (int e = 0; e < N_TRAFFIC; e++) {
				/* scaled to all classes: but for what is rounded */
				double all = 0, reduced = 0;
				for (unsigned k = 0; k < n; k++)
					all += (double)(a[k][e] + b[k][e]) / n;
				for (unsigned k = 0; k < fewer; k++)
					reduced += (double)got[k][e] / fewer;
				cr_assert_float_eq(all, reduced, 0.5 + 1e-9 * all);
			}
		}
		free(to.lines);
		free(more.lines);
	}
}
