/* Growing arrays: `T *items; size_t n_items, cap_items;` as three members of any struct. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `n + 1` elements of `size` bytes.  Returns false, and changes nothing, when
 * memory is short or the size would overflow. */
static inline bool rf_array_reserve(void **items, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return true;
	size_t wanted = *cap ? *cap + *cap / 2 : 16;
	if (wanted > SIZE_MAX / 2 / size)
		return false;
	void *grown = realloc(*items, wanted * size);
	if (!grown)
		return false;
	*items = grown;
	*cap = wanted;
	return true;
}

/* Makes room for element `index` of an array of `size` bytes each that has `n`, which are all in
 * use; new ones are zero.  Returns false, and changes nothing, when memory is short. */
static inline bool rf_array_reach(void **items, size_t *n, size_t index, size_t size)
{
	if (index < *n)
		return true;
	const size_t wanted = index * 2 + 64;
	char *grown = (char *)realloc(*items, wanted * size);
	if (!grown)
		return false;
	memset(grown + *n * size, 0, (wanted - *n) * size);
	*items = grown;
	*n = wanted;
	return true;
}

/* The same for an array that is to be as long as needed, and no longer: up to `wanted`. */
static inline bool rf_array_extend(void **items, size_t *n, size_t wanted, size_t size)
{
	if (wanted <= *n)
		return true;
	char *grown = (char *)realloc(*items, wanted * size);
	if (!grown)
		return false;
	memset(grown + *n * size, 0, (wanted - *n) * size);
	*items = grown;
	*n = wanted;
	return true;
}

/* Appends `value` to the array `a`; an expression that is false when memory is short. */
#define rf_array_push(a, n, cap, value)                                                            \
	(rf_array_reserve((void **)&(a), (n), &(cap), sizeof(*(a))) ? ((a)[(n)++] = (value), true) \
								    : false)
/* The same as an error, NULL for success. */
#define rf_array_add(a, n, cap, value) \
	(rf_array_push(a, n, cap, value) ? NULL : rf_error_no_memory())
