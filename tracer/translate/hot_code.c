/* Finds hot code by its executions. */
#include "tracer/translate/hot_code.h"

#include "base/array.h"
#include "tracer/translate/code_cache.h"

#include <math.h>

#define HOT_SHARE 1e-5 /* of all executions of blocks: what has fewer is not hot */

/* Code that is called, or jumped to through a table. */
static bool is_head(const struct code_block *block)
{
	return block->called || block->entry;
}

static bool add(struct hot_code *hot, const struct code_block *block, double executions)
{
	const uint32_t weight = 1 + (uint32_t)(HOT_DOUBLED * log2(executions));
	return u64_map_set(&hot->weights, block->pc, weight) &&
	       rf_array_push(hot->blocks, hot->n_blocks, hot->cap_blocks, block->pc);
}

bool hot_code_init(struct hot_code *hot, const struct code_cache *from, const double *executions)
{
	double least = 1;
	bool ok = true;
	*hot = (struct hot_code){0};
	for (size_t i = 0; i < from->n_blocks; i++)
		least += executions[i] * HOT_SHARE;
	for (int heads = 1; heads >= 0; heads--)
		for (size_t i = 0; i < from->n_blocks && ok; i++) {
			const struct code_block *block = &from->blocks[i];
			if (executions[i] >= least && !block->stale && is_head(block) == heads)
				ok = add(hot, block, executions[i]);
		}
	return ok;
}

void hot_code_deinit(struct hot_code *hot)
{
	u64_map_deinit(&hot->weights);
	free(hot->blocks);
	*hot = (struct hot_code){0};
}

uint16_t hot_code_weight(const struct hot_code *hot, uint64_t pc)
{
	const uint32_t *weight = u64_map_find(&hot->weights, pc);
	return weight ? (uint16_t)*weight : 0;
}
