/* Call stacks by function: one node for each path of functions. */
#include "report/export/stacks.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <assert.h>
#include <stdlib.h>

/* Finds or adds. */
static struct rf_error *node_at(struct stacks *stacks, struct u64_map *map, uint32_t parent,
				uint32_t row, uint32_t *at)
{
	const uint64_t key =
		(uint64_t)(parent + 1) << 32 | (row + 1); /* a root's parent is 0 there */
	const uint32_t *found = u64_map_find(map, key);
	struct stack_node node = {parent, row};
	*at = found ? *found : (uint32_t)stacks->n_nodes;
	if (found)
		return NULL;
	return rf_array_push(stacks->nodes, stacks->n_nodes, stacks->cap_nodes, node) &&
			       u64_map_set(map, key, *at)
		       ? NULL
		       : rf_error_no_memory();
}

struct rf_error *stacks_init(struct stacks *stacks, const struct code *code)
{
	const struct profile *profile = code->profile;
	struct u64_map map = {0};
	*stacks = (struct stacks){.of_frame = malloc((profile->n_frames + 1) * sizeof(uint32_t))};
	struct rf_error *error = stacks->of_frame ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i <= profile->n_frames; i++) {
		const uint32_t above =
			i < profile->n_frames ? profile->frames[i].parent : PROFILE_NONE;
		const uint32_t row =
			code_row_of(code, i < profile->n_frames ? (uint32_t)i : PROFILE_NONE);
		error = node_at(stacks, &map,
				above == PROFILE_NONE ? above : stacks->of_frame[above], row,
				&stacks->of_frame[i]);
	}
	u64_map_deinit(&map);
	return error;
}

void stacks_deinit(struct stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->of_frame);
}

uint32_t stacks_of(const struct stacks *stacks, const struct code *code, uint32_t frame)
{
	assert(frame == PROFILE_NONE || frame < code->profile->n_frames);
	return stacks->of_frame[frame == PROFILE_NONE ? code->profile->n_frames : frame];
}
