/* Ranges of addresses that overlap, made into pieces that do not: each place belongs to the range
 * of the highest rank that holds it. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct ranked_range {
	uint64_t start, end; /* not empty */
	uint32_t rank;
	const void *owner; /* the caller's */
};

/* The piece [start, end) belongs to `top`. */
typedef struct rf_error *overlaps_piece(void *context, uint64_t start, uint64_t end,
					const struct ranked_range *top);

/* Sorts the ranges, and calls `piece` for each piece in ascending order; a piece ends where another
 * range begins, even if what follows is of the same range.  Errors: of `piece`; memory. */
struct rf_error *overlaps_flatten(struct ranked_range *ranges, size_t n, overlaps_piece *piece,
				  void *context);
