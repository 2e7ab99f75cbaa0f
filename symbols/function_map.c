/* How ranges of functions from several sources become one map without overlaps. */
#include "symbols/function_map.h"

#include "base/array.h"
#include "base/search.h"

#include <assert.h>
#include <string.h>

void function_map_deinit(struct function_map *map)
{
	free(map->ranges);
	*map = (struct function_map){0};
}

static struct rf_error *push(struct function_map *map, const struct function_range *range)
{
	return rf_array_push(map->ranges, map->n_ranges, map->cap_ranges, *range)
		       ? NULL
		       : rf_error_no_memory();
}

struct rf_error *function_map_append(struct function_map *map, uint64_t start, uint64_t end,
				     const char *raw, const char *suffix, enum function_rank rank)
{
	struct function_range range = {
		.start = start,
		.end = end,
		.raw = raw,
		.suffix = suffix,
		.rank = rank,
	};
	return end <= start ? NULL : push(map, &range);
}

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/* Best name first: global before weak before local, then fewer leading underscores (the name
 * that people write), then the shorter, then the alphabet, so that the choice never depends on
 * the order of the table. */
static int compare_names(const struct function_range *a, const struct function_range *b)
{
	if (!a->raw || !b->raw)
		return !a->raw - !b->raw;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	size_t under_a = leading_underscores(a->raw), under_b = leading_underscores(b->raw);
	if (under_a != under_b)
		return under_a < under_b ? -1 : 1;
	size_t length_a = strlen(a->raw), length_b = strlen(b->raw);
	if (length_a != length_b)
		return length_a < length_b ? -1 : 1;
	return strcmp(a->raw, b->raw);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct function_range *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	int names = compare_names(a, b);
	if (names)
		return names;
	return a->end < b->end ? 1 : a->end > b->end ? -1 : 0;
}

/* Keeps the best name of each start with the furthest end that any alias claims. */
static void merge_aliases(struct function_map *map)
{
	size_t kept = 0;
	for (size_t i = 0; i < map->n_ranges; i++) {
		struct function_range *range = &map->ranges[i];
		if (!kept || map->ranges[kept - 1].start != range->start) {
			map->ranges[kept++] = *range;
			continue;
		}
		if (range->end > map->ranges[kept - 1].end)
			map->ranges[kept - 1].end = range->end;
	}
	map->n_ranges = kept;
}

/* The sweep that flattens nested and overlapping ranges: `open` is a stack of the ranges that
 * hold the current position, the innermost last. */
struct sweep {
	struct function_map flat;
	struct function_range *open;
	size_t n_open, cap_open;
	uint64_t position;
};

static struct rf_error *emit_up_to(struct sweep *sweep, uint64_t end)
{
	assert(sweep->n_open > 0);
	const struct function_range *inner = &sweep->open[sweep->n_open - 1];
	const uint64_t start = sweep->position;
	if (start >= end)
		return NULL;
	sweep->position = end;
	return function_map_append(&sweep->flat, start, end, inner->raw, inner->suffix,
				   inner->rank);
}

/* Closes every open range that ends at or before `limit`, emitting what is left of it. */
static struct rf_error *close_up_to(struct sweep *sweep, uint64_t limit)
{
	struct rf_error *error = NULL;
	while (!error && sweep->n_open && sweep->open[sweep->n_open - 1].end <= limit) {
		error = emit_up_to(sweep, sweep->open[sweep->n_open - 1].end);
		sweep->n_open--;
	}
	return error;
}

static struct rf_error *sweep_range(struct sweep *sweep, const struct function_range *range)
{
	struct rf_error *error = close_up_to(sweep, range->start);
	if (!error && sweep->n_open)
		error = emit_up_to(sweep, range->start);
	sweep->position = range->start;
	if (!error && !rf_array_push(sweep->open, sweep->n_open, sweep->cap_open, *range))
		error = rf_error_no_memory();
	return error;
}

struct rf_error *function_map_settle(struct function_map *map)
{
	if (!map->n_ranges)
		return NULL;
	qsort(map->ranges, map->n_ranges, sizeof(*map->ranges), compare_ranges);
	merge_aliases(map);
	struct sweep sweep = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < map->n_ranges; i++)
		error = sweep_range(&sweep, &map->ranges[i]);
	if (!error)
		error = close_up_to(&sweep, UINT64_MAX);
	free(sweep.open);
	function_map_deinit(error ? &sweep.flat : map);
	if (!error)
		*map = sweep.flat;
	return error;
}

static uint64_t start_or_end_of_memory(const struct function_map *map, size_t i)
{
	return i < map->n_ranges ? map->ranges[i].start : UINT64_MAX;
}

struct rf_error *function_map_add_layer(struct function_map *map, struct function_map *lower)
{
	struct function_map merged = {0};
	size_t upper = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < lower->n_ranges; i++) {
		struct function_range range = lower->ranges[i];
		for (; !error && start_or_end_of_memory(map, upper) <= range.start; upper++)
			error = push(&merged, &map->ranges[upper]);
		if (error || (upper && map->ranges[upper - 1].end > range.start))
			continue;
		if (range.end > start_or_end_of_memory(map, upper))
			range.end = start_or_end_of_memory(map, upper);
		error = push(&merged, &range);
	}
	for (; !error && upper < map->n_ranges; upper++)
		error = push(&merged, &map->ranges[upper]);
	if (error) {
		function_map_deinit(&merged);
		return error;
	}
	function_map_deinit(map);
	function_map_deinit(lower);
	*map = merged;
	return NULL;
}

struct function_range *function_map_find(const struct function_map *map, uint64_t vaddr,
					 size_t *next)
{
	const size_t n = rf_search(map->n_ranges, i, map->ranges[i].start <= vaddr);
	if (next)
		*next = n;
	return n && vaddr < map->ranges[n - 1].end ? &map->ranges[n - 1] : NULL;
}
