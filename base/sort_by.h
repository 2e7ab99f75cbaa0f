/* Sorting by a number: in time that grows with the number of items, and of them alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts `n` items of `size` bytes by what `key` says of each, ascending; those of one key stay in
 * their order, so that sorting by a second number and then by a first one sorts by both.  False:
 * memory is short, and nothing was changed. */
bool rf_sort_by(void *items, size_t n, size_t size, uint64_t (*key)(const void *item));
