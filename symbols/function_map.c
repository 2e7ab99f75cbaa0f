/* How ranges of functions from several sources become one map without overlaps. */
#include "symbols/function_map.h"

#include "base/array.h"
#include "base/search.h"
#include "symbols/overlaps.h"

#include <string.h>

void function_map_deinit(struct function_map *map)
{
	free(map->ranges);
	*map = (struct function_map){0};
}

static struct rf_error *push(struct function_map *map, const struct function_range *range)
{
	return rf_array_add(map->ranges, map->n_ranges, map->cap_ranges, *range);
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

/* Best name first: global before weak before local, then fewer leading underscores (the name
 * that people write), then the shorter, then the alphabet, so that the choice never depends on
 * the order of the table. */
static int compare_names(const struct function_range *a, const struct function_range *b)
{
	if (!a->raw || !b->raw)
		return !a->raw - !b->raw;
	const size_t under_a = strspn(a->raw, "_"), under_b = strspn(b->raw, "_");
	return rf_compare(a->rank, b->rank)
		       ?: rf_compare(under_a, under_b)
		       ?: rf_compare(strlen(a->raw), strlen(b->raw))
		       ?: strcmp(a->raw, b->raw);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct function_range *a = left, *b = right;
	return rf_compare(a->start, b->start) ?: compare_names(a, b) ?: rf_compare(b->end, a->end);
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

static struct rf_error *add_piece(void *context, uint64_t start, uint64_t end,
				  const struct ranked_range *top)
{
	const struct function_range *range = top->owner;
	return function_map_append(context, start, end, range->raw, range->suffix, range->rank);
}

/* Of ranges that are nested or overlap the one that starts last holds. */
struct rf_error *function_map_settle(struct function_map *map)
{
	struct function_map flat = {0};
	if (!map->n_ranges)
		return NULL;
	qsort(map->ranges, map->n_ranges, sizeof(*map->ranges), compare_ranges);
	merge_aliases(map);
	struct ranked_range *ranked = malloc(map->n_ranges * sizeof(*ranked));
	for (size_t i = 0; ranked && i < map->n_ranges; i++)
		ranked[i] = (struct ranked_range){map->ranges[i].start, map->ranges[i].end,
						  (uint32_t)i, &map->ranges[i]};
	struct rf_error *error = ranked ? overlaps_flatten(ranked, map->n_ranges, add_piece, &flat)
					: rf_error_no_memory();
	free(ranked);
	function_map_deinit(error ? &flat : map);
	if (!error)
		*map = flat;
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
