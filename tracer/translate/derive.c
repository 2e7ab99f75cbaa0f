/* Adds the junctions of batches to the code cache, and tells from its counters how often each block
 * ran. */
#include "tracer/translate/derive.h"

#include "base/array.h"

#include <stdlib.h>

struct rf_error *derive_add_junction(struct code_cache *cache, uint32_t *junction)
{
	struct rf_error *error = NULL;
	do { /* OUTSIDE is the first */
		*junction = (uint32_t)cache->n_junctions;
		error = rf_array_add(cache->leaving, cache->n_junctions, cache->cap_leaving,
				     NO_COUNTER);
	} while (!error && *junction == OUTSIDE);
	return error;
}

struct rf_error *derive_add_crossing(struct code_cache *cache, uint32_t from, uint32_t to,
				     uint32_t *counter)
{
	const struct crossing crossing = {from, to, cache->n_counters};
	*counter = cache->n_counters++;
	return rf_array_add(cache->crossings, cache->n_crossings, cache->cap_crossings, crossing);
}

void derive_leave(struct code_cache *cache, const struct code_block *block, bool counted,
		  uint64_t *counters)
{
	const uint32_t junction = counted ? block->out : block->in;
	if (junction == OUTSIDE)
		return;
	uint32_t *counter = &cache->leaving[junction];
	struct rf_error *error = NULL;
	if (*counter == NO_COUNTER)
		error = derive_add_crossing(cache, junction, OUTSIDE, counter);
	if (!error)
		counters[*counter]++;
	rf_error_destroy(error); /* one execution is counted wrongly, then */
}

static void add_known(const struct code_cache *cache, const uint64_t *counters, int64_t *executions,
		      int64_t *surplus)
{
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		executions[i] =
			block->counter == NO_COUNTER ? 0 : (int64_t)counters[block->counter];
		surplus[block->out] += executions[i];
		surplus[block->in] -= executions[i];
	}
	for (size_t i = 0; i < cache->n_crossings; i++) {
		const struct crossing *crossing = &cache->crossings[i];
		surplus[crossing->to] += (int64_t)counters[crossing->counter];
		surplus[crossing->from] -= (int64_t)counters[crossing->counter];
	}
}

bool derive_executions(const struct code_cache *cache, const uint64_t *counters,
		       int64_t *executions)
{
	/* how much more often control came to each junction than left it, by what is known */
	int64_t *surplus = calloc(cache->n_junctions + 1, sizeof(*surplus));
	if (!surplus)
		return false;
	add_known(cache, counters, executions, surplus);
	for (size_t i = 0; i < cache->n_derived; i++) {
		const struct derived *derived = &cache->derived[i];
		if (derived->block >= cache->n_blocks)
			continue; /* memory was short before it was emitted */
		const struct code_block *block = &cache->blocks[derived->block];
		const int64_t n = derived->at_in ? surplus[block->in] : -surplus[block->out];
		surplus[block->out] += n;
		surplus[block->in] -= n;
		executions[derived->block] = n;
	}
	free(surplus);
	return true;
}
