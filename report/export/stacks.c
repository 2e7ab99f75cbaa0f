#include "report/export/stacks.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <stdlib.h>

/* Find-or-add; PROFILE_NONE: no memory. */
static uint32_t node_at(struct stacks *stacks, struct u64_map *map, uint32_t parent, uint32_t row)
{
	const uint64_t key =
		(uint64_t)(parent + 1) << 32 | (row + 1); /* a root's parent is 0 there */
	const uint32_t *found = u64_map_find(map, key);
	struct stack_node node = {parent, row};
	if (found)
		return *found;
	if (!rf_array_push(stacks->nodes, stacks->n_nodes, stacks->cap_nodes, node) ||
	    !u64_map_set(map, key, (uint32_t)stacks->n_nodes - 1))
		return PROFILE_NONE;
	return (uint32_t)stacks->n_nodes - 1;
}

bool stacks_init(struct stacks *stacks, const struct code *code)
{
	const struct profile *profile = code->profile;
	struct u64_map map = {0};
	*stacks = (struct stacks){.of_frame = malloc((profile->n_frames + 1) * sizeof(uint32_t))};
	bool done = stacks->of_frame != NULL;
	for (size_t i = 0; done && i <= profile->n_frames; i++) {
		const uint32_t above =
			i < profile->n_frames ? profile->frames[i].parent : PROFILE_NONE;
		const uint32_t row =
			code_row_of(code, i < profile->n_frames ? (uint32_t)i : PROFILE_NONE);
		stacks->of_frame[i] =
			node_at(stacks, &map,
				above == PROFILE_NONE ? above : stacks->of_frame[above], row);
		done = stacks->of_frame[i] != PROFILE_NONE;
	}
	u64_map_deinit(&map);
	return done;
}

void stacks_deinit(struct stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->of_frame);
}

uint32_t stacks_of(const struct stacks *stacks, const struct code *code, uint32_t frame)
{
	return stacks->of_frame[frame == PROFILE_NONE ? code->profile->n_frames : frame];
}
