/* The roofs of a profile by what they are of.  A model looks them up some hundred times for each
 * function that took time; without an index each time means reading all of them. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"

#include <stddef.h>
#include <stdint.h>

/* One cell for each operation of each precision (compute) and of each level (bandwidth). */
#define ROOF_CELLS (ROOF_OPS * (ROOF_PRECISIONS + 3 * ROOF_LEVELS))

struct roof_index {
	const struct roof *of; /* what was indexed; NULL: nothing */
	size_t n_of;
	/* Copies, without those of single nodes: cell by cell, in their order. */
	struct roof *roofs;
	uint32_t *rows;                 /* which of `of` each is */
	uint32_t start[ROOF_CELLS + 1]; /* where a cell begins in `roofs` and `rows` */
};

/* Some roofs: `rows` NULL where they are in the place of their own. */
struct roof_run {
	const struct roof *roofs;
	const uint32_t *rows;
	size_t n;
};

/* Indexes anew.  Fails only when memory is short; then there is no index. */
struct rf_error *roof_index_refresh(struct roof_index *index, const struct roof *roofs, size_t n);
void roof_index_deinit(struct roof_index *index);

/* Those of `roofs` that can be of the key (roof_matches() tells which are); all of them where
 * `index` (which may be NULL) is not of these roofs. */
struct roof_run roof_index_find(const struct roof_index *index, const struct roof *roofs, size_t n,
				struct roof_key key);
