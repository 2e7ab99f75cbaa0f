/* Sorting by a number, in time that grows with the number of items, and of them alone; and numbers
 * sorted by a key of each, or by a comparison. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts `n` items of `size` bytes by what `key` says of each, ascending; those of one key stay in
 * their order, so that sorting by a second number and then by a first one sorts by both.  False:
 * memory is short, and nothing was changed. */
bool rf_sort_by(void *items, size_t n, size_t size, uint64_t (*key)(const void *item));

/* Of the numbers that have key k the first is items[first[k]], the last stands before
 * items[first[k + 1]]; they ascend. */
struct by_key {
	size_t *first;
	uint32_t *items;
};

/* Sorts the numbers 0 to n - 1 into `n_keys` keys.  keys: that of number 0 (a uint32_t, the first
 * member of a row), `stride` bytes before the next one's; a number whose key is n_keys or more is
 * left out.  Fails only when memory is short; deinit in any case. */
struct rf_error *by_key_init(struct by_key *by, size_t n_keys, const void *keys, size_t stride,
			     size_t n);
void by_key_deinit(struct by_key *by);

/* The numbers 0 to n - 1 in the order of `compare`, as of qsort_r, to be freed; NULL when memory is
 * short. */
uint32_t *model_sorted(size_t n, int (*compare)(const void *a, const void *b, void *context),
		       void *context);
