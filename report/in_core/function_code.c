/* Executed blocks by their place, and the graphs that they make. */
#include "report/in_core/function_code.h"

#include "base/search.h"

#include <stdlib.h>

static int compare_places(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct profile_block *x = &profile->blocks[*(const uint32_t *)a],
				   *y = &profile->blocks[*(const uint32_t *)b];
	return rf_compare(x->module, y->module) ?: rf_compare(x->start, y->start);
}

struct rf_error *function_code_init(const struct profile *profile, struct function_code *code)
{
	*code = (struct function_code){
		.profile = profile,
		.executions = calloc(profile->n_blocks + 1, sizeof(*code->executions)),
		.blocks = malloc((profile->n_blocks + 1) * sizeof(*code->blocks))};
	if (!code->executions || !code->blocks) {
		function_code_deinit(code);
		return rf_error_no_memory();
	}
	for (size_t i = 0; i < profile->n_counts; i++) {
		int64_t *sum = &code->executions[profile->counts[i].block];
		*sum = flow_add(*sum, profile->counts[i].n);
	}
	for (uint32_t i = 0; i < profile->n_blocks; i++)
		if (code->executions[i])
			code->blocks[code->n_blocks++] = i;
	qsort_r(code->blocks, code->n_blocks, sizeof(*code->blocks), compare_places,
		(void *)profile);
	return NULL;
}

void function_code_deinit(struct function_code *code)
{
	free(code->executions);
	free(code->blocks);
	*code = (struct function_code){0};
}

/* How many of the blocks begin before the place. */
static size_t blocks_before(const struct function_code *code, uint32_t module, uint64_t offset)
{
	const struct profile_block *blocks = code->profile->blocks;
	return rf_search(code->n_blocks, i,
			 blocks[code->blocks[i]].module < module ||
				 (blocks[code->blocks[i]].module == module &&
				  blocks[code->blocks[i]].start < offset));
}

/* A block that runs on into the next function is this one's as far as it goes. */
struct rf_error *function_code_graph(const struct function_code *code, uint32_t row,
				     struct flow_graph *graph, struct model_function *function)
{
	const struct profile_function *of = &code->profile->functions[row];
	struct rf_error *error = NULL;
	for (size_t i = blocks_before(code, of->module, of->start); i < code->n_blocks && !error;
	     i++) {
		const uint32_t index = code->blocks[i];
		const struct profile_block *block = &code->profile->blocks[index];
		if (block->module != of->module || block->start >= of->end)
			break;
		const uint64_t left = of->end - block->start;
		const uint32_t size = left < block->size ? (uint32_t)left : block->size;
		error = flow_graph_add(graph, code->profile, index, 0, size,
				       code->executions[index]);
	}
	return error ? error : flow_graph_find_loops(graph, of, function);
}

size_t loop_way(const struct profile *profile, const struct flow_graph *graph,
		const struct model_function *function, uint32_t loop, struct way_step *steps,
		size_t most)
{
	uint32_t *way = malloc(most * sizeof(*way));
	const size_t n =
		way ? flow_graph_way(graph, loop, function->loops[loop].header, way, most) : 0;
	for (size_t i = 0; i < n; i++) {
		const struct flow_node *node = &graph->nodes[way[i]];
		steps[i] = (struct way_step){
			.bytes = profile->blocks[node->block].bytes + node->at,
			.length = node->length,
			.offset = node->offset,
			.next = graph->nodes[way[i + 1 < n ? i + 1 : 0]].offset,
		};
	}
	free(way);
	return n;
}
