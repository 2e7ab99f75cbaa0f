/* Adds up what instructions would move in another machine's caches, function by function. */
#include "report/rows/other_moves.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "profile/function_index.h"

#include <stdlib.h>
#include <string.h>

struct other_flow other_move_l2(const struct other_move *move)
{
	const double *bytes = move->bytes;
	return (struct other_flow){bytes[TRAFFIC_L2_READ] + bytes[TRAFFIC_L2_WRITE_ALLOCATE],
				   bytes[TRAFFIC_L2_WRITE_BACK] + move->write_through};
}

struct other_flow other_move_l3(const struct other_move *move)
{
	const double *bytes = move->bytes;
	return (struct other_flow){bytes[TRAFFIC_L3_READ] + bytes[TRAFFIC_L3_WRITE_ALLOCATE],
				   bytes[TRAFFIC_L3_WRITE_BACK] + bytes[TRAFFIC_L3_CLEAN_VICTIM]};
}

struct other_flow other_move_memory(const struct other_move *move)
{
	const double *bytes = move->bytes;
	return (struct other_flow){bytes[TRAFFIC_MEM_READ] + bytes[TRAFFIC_MEM_WRITE_ALLOCATE],
				   bytes[TRAFFIC_MEM_WRITE_BACK] + bytes[TRAFFIC_MEM_NON_TEMPORAL]};
}

void other_move_add(struct other_move *sum, const struct profile_other_traffic *row)
{
	for (int event = 0; event <= TRAFFIC_MEM_LEFT; event++)
		sum->bytes[event] += (double)row->bytes[event];
	sum->write_through += (double)row->write_through;
}

/* The sum that a row belongs to; NULL: memory is short.  `known`: places of sums, plus 1, by the
 * function, or by the module above all functions. */
static struct other_move *sum_of(const struct profile *profile,
				 const struct profile_other_traffic *row, struct u64_map *known,
				 struct other_moves *moves)
{
	const uint32_t function = profile_function_at(profile, row->module, row->offset, NULL);
	const uint64_t key = function == PROFILE_NONE ? (UINT64_C(1) << 32) + row->module + 1
						      : (uint64_t)function + 1;
	const uint32_t *at = u64_map_find(known, key);
	if (at)
		return &moves->items[*at - 1];
	const struct other_move new = {.function = function, .module = row->module};
	if (!rf_array_push(moves->items, moves->n_items, moves->cap_items, new) ||
	    !u64_map_set(known, key, (uint32_t)moves->n_items))
		return NULL;
	return &moves->items[moves->n_items - 1];
}

static double at_memory(const struct other_move *move)
{
	const struct other_flow flow = other_move_memory(move);
	return flow.in + flow.out;
}

static double at_l2(const struct other_move *move)
{
	const struct other_flow flow = other_move_l2(move);
	return flow.in + flow.out;
}

static int most_first(const void *a, const void *b)
{
	const struct other_move *x = a, *y = b;
	return rf_compare(at_memory(y), at_memory(x)) ?: rf_compare(at_l2(y), at_l2(x))
	       ?: rf_compare(x->function, y->function);
}

struct rf_error *other_moves_init(const struct profile *profile, struct other_moves *moves)
{
	const char *geometry = profile_get_fact(profile, "other_geometry");
	struct u64_map known = {0};
	bool complete = true;
	*moves = (struct other_moves){.is_known = geometry != NULL,
				      .has_l3 = geometry && strstr(geometry, "L3="),
				      .all = {.function = PROFILE_NONE, .module = PROFILE_NONE}};
	for (size_t i = 0; complete && i < profile->n_other_traffic; i++) {
		const struct profile_other_traffic *row = &profile->other_traffic[i];
		struct other_move *sum = sum_of(profile, row, &known, moves);
		complete = sum != NULL;
		if (sum)
			other_move_add(sum, row);
		other_move_add(&moves->all, row);
	}
	u64_map_deinit(&known);
	if (moves->n_items)
		qsort(moves->items, moves->n_items, sizeof(*moves->items), most_first);
	return complete ? NULL : rf_error_no_memory();
}

void other_moves_deinit(struct other_moves *moves)
{
	free(moves->items);
	*moves = (struct other_moves){0};
}
