/* The index of a profile's roofs: a table of cells, filled by counting. */
#include "profile/roof_index.h"

#include <assert.h>
#include <stdlib.h>

static size_t cell_of(struct roof_key key)
{
	assert(key.op < ROOF_OPS && key.precision < ROOF_PRECISIONS && key.level < ROOF_LEVELS);
	const size_t level = ROOF_PRECISIONS + key.level;
	return key.op * (size_t)(ROOF_PRECISIONS + 3 * ROOF_LEVELS) +
	       (key.kind == ROOF_COMPUTE     ? key.precision
		: key.kind == ROOF_BANDWIDTH ? level
		: key.kind == ROOF_ZEROS     ? level + ROOF_LEVELS
					     : level + 2 * ROOF_LEVELS);
}

static size_t cell_of_roof(const struct roof *roof)
{
	return cell_of(
		(struct roof_key){roof->kind, roof->isa, roof->precision, roof->op, roof->level});
}

/* Sets `start` to the cells' ends: fill() puts the roofs in from the last to the first. */
static void count(struct roof_index *index)
{
	for (size_t i = 0; i < index->n_of; i++)
		if (!index->of[i].by_node)
			index->start[cell_of_roof(&index->of[i])]++;
	for (size_t cell = 1; cell <= ROOF_CELLS; cell++)
		index->start[cell] += index->start[cell - 1];
}

static void fill(struct roof_index *index)
{
	for (size_t i = index->n_of; i-- > 0;) {
		if (index->of[i].by_node)
			continue;
		const uint32_t at = --index->start[cell_of_roof(&index->of[i])];
		index->roofs[at] = index->of[i];
		index->rows[at] = (uint32_t)i;
	}
}

struct rf_error *roof_index_refresh(struct roof_index *index, const struct roof *roofs, size_t n)
{
	roof_index_deinit(index);
	index->roofs = malloc((n + 1) * sizeof(*index->roofs));
	index->rows = malloc((n + 1) * sizeof(*index->rows));
	if (!index->roofs || !index->rows) {
		roof_index_deinit(index);
		return rf_error_no_memory();
	}
	index->of = roofs;
	index->n_of = n;
	count(index);
	fill(index);
	return NULL;
}

void roof_index_deinit(struct roof_index *index)
{
	free(index->roofs);
	free(index->rows);
	*index = (struct roof_index){0};
}

struct roof_run roof_index_find(const struct roof_index *index, const struct roof *roofs, size_t n,
				struct roof_key key)
{
	if (!index || !index->roofs || index->of != roofs || index->n_of != n)
		return (struct roof_run){roofs, NULL, n};
	const size_t cell = cell_of(key);
	const uint32_t start = index->start[cell];
	return (struct roof_run){index->roofs + start, index->rows + start,
				 index->start[cell + 1] - start};
}
