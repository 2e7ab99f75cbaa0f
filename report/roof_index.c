#include "report/roof_index.h"

#include <stdlib.h>
#include <string.h>

/* What is looked up. */
struct key { enum roof_kind kind; const char *precision, *level, *op; };

static int compare_key(const struct roof *roof, const struct key *key)
{
	if (roof->kind != key->kind)
		return roof->kind < key->kind ? -1 : 1;
	int order = strcmp(roof->op, key->op);
	order = order ? order : strcmp(roof->level, key->level);
	return order ? order : strcmp(roof->precision, key->precision);
}

static int compare_rows(const void *a, const void *b, void *roofs)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct roof *other = (const struct roof *)roofs + y;
	const struct key key = {other->kind, other->precision, other->level, other->op};
	const int order = compare_key((const struct roof *)roofs + x, &key);
	return order ? order : x < y ? -1 : x > y;
}

bool roof_index_refresh(struct roof_index *index, const struct roof *roofs, size_t n)
{
	roof_index_deinit(index);
	index->roofs = malloc((n + 1) * sizeof(*index->roofs));
	index->rows = malloc((n + 1) * sizeof(*index->rows));
	if (!index->roofs || !index->rows) {
		roof_index_deinit(index);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!roofs[i].by_node)
			index->rows[index->n++] = (uint32_t)i;
	if (index->n)
		qsort_r(index->rows, index->n, sizeof(*index->rows), compare_rows, (void *)roofs);
	for (size_t i = 0; i < index->n; i++)
		index->roofs[i] = roofs[index->rows[i]];
	index->of = roofs;
	index->n_of = n;
	return true;
}

void roof_index_deinit(struct roof_index *index)
{
	free(index->roofs);
	free(index->rows);
	*index = (struct roof_index){0};
}

struct roof_run roof_index_find(const struct roof_index *index, const struct roof *roofs, size_t n, enum roof_kind kind,
				const char *precision, const char *level, const char *op)
{
	const struct key key = {kind, precision, level, op};
	if (!index || !index->roofs || index->of != roofs || index->n_of != n)
		return (struct roof_run){roofs, NULL, n};
	size_t low = 0, high = index->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare_key(&index->roofs[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < index->n && compare_key(&index->roofs[high], &key) == 0;)
		high++;
	return (struct roof_run){index->roofs + low, index->rows + low, high - low};
}
