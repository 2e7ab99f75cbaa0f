/* Numbers sorted by a key of each, which is a counting sort, or by a comparison. */
#include "base/by_key.h"

#include <stdlib.h>

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
