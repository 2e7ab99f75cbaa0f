#include "profile/roof_index.h"

#include <stdlib.h>
#include <string.h>

/* What is looked up. */
struct key {
	enum roof_kind kind;
	const char *precision, *level, *op;
};

static uint64_t hash_word(uint64_t hash, const char *word)
{
	do
		hash = (hash ^ (uint8_t)*word) * 0x100000001b3u; /* FNV-1a */
	while (*word++);
	return hash;
}

static uint64_t hash_key(const struct key *key)
{
	const uint64_t hash = hash_word(0xcbf29ce484222325u ^ (uint64_t)key->kind, key->op);
	return hash_word(hash_word(hash, key->level), key->precision);
}

static struct key key_of(const struct roof *roof)
{
	return (struct key){roof->kind, roof->precision, roof->level, roof->op};
}

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
	const struct key one = key_of((const struct roof *)roofs + x),
			 other = key_of((const struct roof *)roofs + y);
	const uint64_t hash = hash_key(&one), other_hash = hash_key(&other);
	if (hash != other_hash)
		return hash < other_hash ? -1 : 1;
	const int order = compare_key((const struct roof *)roofs + x, &other);
	return order ? order : x < y ? -1 : x > y;
}

bool roof_index_refresh(struct roof_index *index, const struct roof *roofs, size_t n)
{
	roof_index_deinit(index);
	index->roofs = malloc((n + 1) * sizeof(*index->roofs));
	index->rows = malloc((n + 1) * sizeof(*index->rows));
	index->hashes = malloc((n + 1) * sizeof(*index->hashes));
	if (!index->roofs || !index->rows || !index->hashes) {
		roof_index_deinit(index);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (!roofs[i].by_node)
			index->rows[index->n++] = (uint32_t)i;
	if (index->n)
		qsort_r(index->rows, index->n, sizeof(*index->rows), compare_rows, (void *)roofs);
	for (size_t i = 0; i < index->n; i++) {
		index->roofs[i] = roofs[index->rows[i]];
		const struct key key = key_of(&index->roofs[i]);
		index->hashes[i] = hash_key(&key);
	}
	index->of = roofs;
	index->n_of = n;
	return true;
}

void roof_index_deinit(struct roof_index *index)
{
	free(index->roofs);
	free(index->rows);
	free(index->hashes);
	*index = (struct roof_index){0};
}

struct roof_run roof_index_find(const struct roof_index *index, const struct roof *roofs, size_t n,
				enum roof_kind kind, const char *precision, const char *level,
				const char *op)
{
	const struct key key = {kind, precision, level, op};
	if (!index || !index->roofs || index->of != roofs || index->n_of != n)
		return (struct roof_run){roofs, NULL, n};
	const uint64_t hash = hash_key(&key);
	size_t low = 0, high = index->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (index->hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < index->n && index->hashes[low] == hash &&
	       compare_key(&index->roofs[low], &key) != 0)
		low++; /* another key of the same hash */
	for (high = low; high < index->n && compare_key(&index->roofs[high], &key) == 0;)
		high++;
	return (struct roof_run){index->roofs + low, index->rows + low, high - low};
}
