/* Ranks choose their classes at random, each its own: the sum over ranks of the k-th is as good a
 * sample of all classes as each of them. */
#include "report/merge/lines.h"

#include "base/leb128.h"

#include <stdlib.h>
#include <string.h>

typedef uint64_t class_lines[CACHE_CLASSES][N_TRAFFIC];

static void unpack(const struct profile_sum_traffic *row, unsigned n, class_lines lines)
{
	size_t at = 0;
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines[k][e] = leb128_get(row->lines, row->size, &at);
}

static bool pack(class_lines lines, unsigned n, struct profile_sum_traffic *row)
{
	uint8_t bytes[CACHE_CLASSES * N_TRAFFIC * LEB128_MOST], *end = bytes;
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			end = leb128_put(end, lines[k][e]);
	const size_t size = (size_t)(end - bytes);
	uint8_t *fresh = malloc(size + 1);
	if (!fresh)
		return false;
	memcpy(fresh, bytes, size);
	free(row->lines);
	row->lines = fresh;
	row->size = (uint32_t)size;
	return true;
}

bool merge_lines_reduce(struct profile_sum_traffic *row, unsigned n, unsigned fewer)
{
	class_lines lines, means = {0};
	const unsigned group = n / fewer;
	unpack(row, n, lines);
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			means[k % fewer][e] += lines[k][e];
	for (unsigned k = 0; k < fewer; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			means[k][e] = (means[k][e] + group / 2) / group;
	return pack(means, fewer, row);
}

bool merge_lines_add(struct profile_sum_traffic *to, const struct profile_sum_traffic *more,
		     unsigned n)
{
	class_lines lines, others;
	unpack(to, n, lines);
	unpack(more, n, others);
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines[k][e] += others[k][e];
	return pack(lines, n, to);
}
