/* The roofs of a profile by what they are of.  A model looks them up some hundred times for each
 * function that took time; without an index each time means reading all of them. */
#pragma once

#include "machine/data/machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roof_index {
	const struct roof *of; /* what was indexed */
	size_t n_of;
	struct roof *roofs; /* copies, without those of single nodes; those of one (kind, precision,
			     * level, op) stand together, in their order */
	uint64_t *hashes;   /* of these four: ascending */
	uint32_t *rows;     /* which of `of` each is */
	size_t n;
};

/* Some roofs: `rows` NULL where they are in the place of their own. */
struct roof_run {
	const struct roof *roofs;
	const uint32_t *rows;
	size_t n;
};

/* Indexes anew.  False when memory is short; then there is no index. */
bool roof_index_refresh(struct roof_index *index, const struct roof *roofs, size_t n);
void roof_index_deinit(struct roof_index *index);

/* Those of `roofs` that can be of that kind, precision, level and operation; all of them where
 * `index` (which may be NULL) is not of these roofs. */
struct roof_run roof_index_find(const struct roof_index *index, const struct roof *roofs, size_t n,
				enum roof_kind kind, const char *precision, const char *level,
				const char *op);
