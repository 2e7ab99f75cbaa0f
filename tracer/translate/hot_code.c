/* Finds hot code by its executions. */
#include "tracer/translate/hot_code.h"

#include "base/array.h"
#include "tracer/translate/code_cache.h"

#include <math.h>
#include <stdlib.h>

#define HOT_SHARE 1e-5 /* of all executions of blocks: what has fewer is not hot */
/* Of all executions, how many may be of cold code, and of blocks that run otherwise than they did,
 * before it is worth a second layout. */
#define COLD_SHARE 0.05
#define CHANGED_SHARE 0.25
#define CHANGED 1.0 /* doublings */

/* Code that is called, or jumped to through a table. */
static bool is_head(const struct code_block *block)
{
	return block->called || block->entry;
}

/* By where they end, and then by where they begin. */
static int by_end(const void *left, const void *right)
{
	const struct code_block *a = *(const struct code_block *const *)left,
				*b = *(const struct code_block *const *)right;
	const uint64_t a_end = a->pc + a->size, b_end = b->pc + b->size;
	if (a_end != b_end)
		return a_end < b_end ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

static double executions_of(const struct code_cache *from, const double *executions)
{
	double all = 0;
	for (size_t i = 0; i < from->n_blocks; i++)
		all += from->blocks[i].stale ? 0 : executions[i];
	return all;
}

/* What is hot of the blocks; *n of them, by_end; to be freed.  NULL: memory is short. */
static const struct code_block **hot_blocks(const struct code_cache *from, const double *executions,
					    size_t *n)
{
	const struct code_block **blocks = calloc(from->n_blocks + 1, sizeof(*blocks));
	double least = 1;
	for (size_t i = 0; i < from->n_blocks; i++)
		least += executions[i] * HOT_SHARE;
	*n = 0;
	for (size_t i = 0; blocks && i < from->n_blocks; i++)
		if (executions[i] >= least && !from->blocks[i].stale)
			blocks[(*n)++] = &from->blocks[i];
	if (blocks)
		qsort(blocks, *n, sizeof(const struct code_block *), by_end);
	return blocks;
}

/* Whether the i-th is nothing but the end of another one: a thread has come to it in its middle,
 * where it was interrupted.  Made first, it would cut the other one into pieces.  What is jumped to
 * besides is found on the way from the block that jumps. */
static bool is_tail(const struct code_block *const *blocks, size_t i)
{
	const struct code_block *block = blocks[i], *before = i ? blocks[i - 1] : NULL;
	return before && before->pc + before->size == block->pc + block->size;
}

static bool add_weight(struct hot_code *hot, const struct code_block *block, double executions)
{
	const uint32_t weight = 1 + (uint32_t)(HOT_DOUBLED * log2(executions));
	return u64_map_set(&hot->weights, block->pc, weight) &&
	       (!block->called || u64_map_set(&hot->called, block->pc, 1));
}

static bool add_block(struct hot_code *hot, const struct code_block *block)
{
	const struct hot_block add = {block->pc, block->entry != 0};
	return rf_array_push(hot->blocks, hot->n_blocks, hot->cap_blocks, add);
}

bool hot_code_init(struct hot_code *hot, const struct code_cache *from, const double *executions)
{
	size_t n;
	const struct code_block **blocks = hot_blocks(from, executions, &n);
	bool ok = blocks != NULL;
	*hot = (struct hot_code){0};
	hot->n_executions = executions_of(from, executions);
	for (size_t i = 0; i < n && ok; i++)
		ok = add_weight(hot, blocks[i], executions[blocks[i] - from->blocks]);
	for (int heads = 1; heads >= 0; heads--)
		for (size_t i = 0; i < n && ok; i++)
			if (is_head(blocks[i]) == heads && !is_tail(blocks, i))
				ok = add_block(hot, blocks[i]);
	free(blocks);
	return ok;
}

void hot_code_deinit(struct hot_code *hot)
{
	u64_map_deinit(&hot->weights);
	u64_map_deinit(&hot->called);
	free(hot->blocks);
	*hot = (struct hot_code){0};
}

uint16_t hot_code_weight(const struct hot_code *hot, uint64_t pc)
{
	const uint32_t *weight = u64_map_find(&hot->weights, pc);
	return weight ? (uint16_t)*weight : 0;
}

bool hot_code_is_called(const struct hot_code *hot, uint64_t pc)
{
	return u64_map_find(&hot->called, pc) != NULL;
}

bool hot_code_still_is(const struct hot_code *hot, const struct code_cache *from,
		       const double *executions)
{
	const double all = executions_of(from, executions);
	double cold = 0, changed = 0;
	for (size_t i = 0; i < from->n_blocks; i++) {
		const double n = from->blocks[i].stale ? 0 : executions[i];
		if (n <= 0)
			continue;
		const uint16_t weight = hot_code_weight(hot, from->blocks[i].pc);
		const double was = (weight - 1.0) / HOT_DOUBLED - log2(hot->n_executions);
		if (!weight)
			cold += n;
		else if (fabs(log2(n / all) - was) > CHANGED)
			changed += n;
	}
	return cold <= COLD_SHARE * all && changed <= CHANGED_SHARE * all;
}
