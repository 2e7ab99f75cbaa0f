/* From nodes of the graph to instructions. */
#include "report/ecm/loop_way.h"

#include <stdlib.h>

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
