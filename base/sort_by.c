/* A radix sort, by bytes from the lowest up: those that all keys have in common are left out, of
 * which keys such as addresses have many. */
#include "base/sort_by.h"

#include <stdlib.h>
#include <string.h>

struct pair {
	uint64_t key;
	size_t index;
};

/* Into `to`, by one byte. */
static void sort_by_byte(const struct pair *from, struct pair *to, size_t n, int shift)
{
	size_t first[256] = {0}, sum = 0;
	for (size_t i = 0; i < n; i++)
		first[from[i].key >> shift & 0xff]++;
	for (int k = 0; k < 256; k++) {
		const size_t count = first[k];
		first[k] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[first[from[i].key >> shift & 0xff]++] = from[i];
}

/* Few, or such that are nearly in order. */
static void sort_few(struct pair *pairs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct pair pair = pairs[i];
		size_t at = i;
		for (; at > 0 && pairs[at - 1].key > pair.key; at--)
			pairs[at] = pairs[at - 1];
		pairs[at] = pair;
	}
}

/* Returns the sorted ones, in `pairs` or in `spare`. */
static const struct pair *sort_pairs(struct pair *pairs, struct pair *spare, size_t n)
{
	uint64_t differ = 0;
	if (n <= 32) {
		sort_few(pairs, n);
		return pairs;
	}
	for (size_t i = 1; i < n; i++)
		differ |= pairs[i].key ^ pairs[0].key;
	for (int shift = 0; shift < 64; shift += 8)
		if (differ >> shift & 0xff) {
			struct pair *const from = pairs;
			sort_by_byte(from, spare, n, shift);
			pairs = spare;
			spare = from;
		}
	return pairs;
}

bool rf_sort_by(void *items, size_t n, size_t size, uint64_t (*key)(const void *item))
{
	char *const bytes = items;
	bool in_order = true;
	struct pair *pairs = malloc((2 * n + 1) * sizeof(*pairs));
	char *copy = malloc(n * size + 1);
	for (size_t i = 0; i < n && pairs && copy; i++) {
		pairs[i] = (struct pair){key(bytes + i * size), i};
		in_order &= !i || pairs[i - 1].key <= pairs[i].key;
	}
	if (pairs && copy && !in_order) {
		const struct pair *sorted = sort_pairs(pairs, pairs + n, n);
		memcpy(copy, bytes, n * size);
		for (size_t i = 0; i < n; i++)
			memcpy(bytes + i * size, copy + sorted[i].index * size, size);
	}
	const bool done = pairs && copy;
	free(pairs);
	free(copy);
	return done;
}

/* ---- numbers, by a counting sort or a comparison ---- */

static uint32_t key_of(const void *keys, size_t stride, size_t number)
{
	return *(const uint32_t *)((const char *)keys + number * stride);
}

struct rf_error *by_key_init(struct by_key *by, size_t n_keys, const void *keys, size_t stride,
			     size_t n)
{
	by->first = calloc(n_keys + 1, sizeof(*by->first));
	by->items = malloc((n + 1) * sizeof(*by->items));
	if (!by->first || !by->items)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++)
		if (key_of(keys, stride, i) < n_keys)
			by->first[key_of(keys, stride, i)]++;
	for (size_t k = 0, end = 0; k <= n_keys; k++) /* where those of k end */
		end = by->first[k] += end;
	for (size_t i = n; i-- > 0;) /* from there backward, down to where they begin */
		if (key_of(keys, stride, i) < n_keys)
			by->items[--by->first[key_of(keys, stride, i)]] = (uint32_t)i;
	return NULL;
}

void by_key_deinit(struct by_key *by)
{
	free(by->first);
	free(by->items);
}

uint32_t *model_sorted(size_t n, int (*compare)(const void *a, const void *b, void *context),
		       void *context)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order && n)
		qsort_r(order, n, sizeof(*order), compare, context);
	return order;
}
