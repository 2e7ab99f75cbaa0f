/* What loops did: their work, time and traffic. */
#pragma once

#include "report/model/flow_graph.h"
#include "report/model/model_rows.h"

/* Numbers 0 to n - 1, by the row of each. */
struct by_row {
	uint32_t *row_of; /* PROFILE_NONE: in none */
	uint32_t *sorted;
	size_t n;
};

/* The parts of a profile that figures of loops are from. */
struct loop_sources {
	const struct model_rows *rows;
	struct by_row samples, traffic;
	uint32_t *units; /* by (module, offset) */
	uint64_t cost;   /* of a sample */
};

/* Fails only when memory is short; deinit in any case.  model->uncounted_samples comes before. */
struct rf_error *loop_sources_init(struct loop_sources *sources, const struct model_rows *rows,
				   const struct model *model);
void loop_sources_deinit(struct loop_sources *sources);

/* Fills the loops of a function, which is `row`, from the nodes of its graph.  Fails only when
 * memory is short. */
struct rf_error *loop_figures(const struct loop_sources *sources, const struct flow_graph *graph,
			      uint32_t row, const struct model *model);
