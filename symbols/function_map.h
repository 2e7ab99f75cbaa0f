/* Which function holds which offset: sorted ranges that never overlap, put together in layers,
 * the most trusted source first. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Rank of a symbol among those at one address; the lowest is the one that is shown. */
enum function_rank { RANK_GLOBAL, RANK_WEAK, RANK_LOCAL };

struct function_range {
	uint64_t start, end;
	const char *raw;    /* mangled name, borrowed; NULL: named by its offset */
	const char *suffix; /* put after the demangled name: "@plt", or "" */
	uint8_t rank;
	const char *name; /* as shown, borrowed; NULL until first asked for */
	const char *file; /* borrowed, or NULL */
	uint32_t line;
};

struct function_map {
	struct function_range *ranges;
	size_t n_ranges, cap_ranges;
};

void function_map_deinit(struct function_map *map);

/* Appends a range to a list that is not a layer yet; an empty one is left out.  This and what
 * follows fails only when memory is short. */
struct rf_error *function_map_append(struct function_map *map, uint64_t start, uint64_t end,
				     const char *raw, const char *suffix, enum function_rank rank);

/* Makes a list a layer: sorts it, keeps one name for each start, cuts every range at the next
 * start; what follows an inner function up to the end of the outer one is the outer one's again. */
struct rf_error *function_map_settle(struct function_map *map);

/* Adds what a settled `lower` layer knows where `map` knows nothing: ranges whose start is free,
 * cut at the next known start.  `lower` is empty afterwards. */
struct rf_error *function_map_add_layer(struct function_map *map, struct function_map *lower);

/* The range that holds `vaddr`; NULL when there is none.  *next (may be NULL) gets the index of
 * the first range that starts after `vaddr`. */
struct function_range *function_map_find(const struct function_map *map, uint64_t vaddr,
					 size_t *next);
