/* What loops did: work of their instructions, time of the samples and traffic of the lines in them.
 * Each figure holds what the loops within have. */
#include "report/model/loop_figures.h"

#include "base/search.h"
#include "insn/work.h"
#include "report/model/model_count.h"
#include "report/model/model_moved.h"
#include "report/model/model_processes.h"
#include "report/model/model_samples.h"

#include <stdlib.h>

/* One function while its loops are filled. */
struct filler {
	const struct loop_sources *sources;
	const struct profile *profile;
	const struct flow_graph *graph;
	struct model_function *function;
	uint32_t row, module;
};

/* ---- sources ---- */

static int compare_by_row(const void *a, const void *b, void *context)
{
	const uint32_t *row_of = context, x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (row_of[x] != row_of[y])
		return row_of[x] < row_of[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool by_row_init(struct by_row *by, size_t n)
{
	by->row_of = malloc((n + 1) * sizeof(*by->row_of));
	by->sorted = malloc((n + 1) * sizeof(*by->sorted));
	by->n = n;
	return by->row_of && by->sorted;
}

static void by_row_sort(struct by_row *by)
{
	for (size_t i = 0; i < by->n; i++)
		by->sorted[i] = (uint32_t)i;
	if (by->n)
		qsort_r(by->sorted, by->n, sizeof(*by->sorted), compare_by_row, by->row_of);
}

/* Where the numbers of a row begin in by->sorted. */
static size_t by_row_first(const struct by_row *by, uint32_t row)
{
	return rf_search(by->n, i, by->row_of[by->sorted[i]] < row);
}

/* A sample that was not counted is in no loop. */
static uint32_t row_of_sample(const struct model_rows *rows, const struct model *model, size_t i)
{
	const struct profile_sample *sample = &rows->profile->samples[i];
	if (sample->frame == PROFILE_NONE || model->uncounted_samples[i])
		return PROFILE_NONE;
	const struct profile_frame *frame = &rows->profile->frames[sample->frame];
	return (uint32_t)model_row_at(rows, frame->module, frame->offset, NULL);
}

struct rf_error *loop_sources_init(struct loop_sources *sources, const struct model_rows *rows,
				   const struct model *model)
{
	const struct profile *profile = rows->profile;
	*sources = (struct loop_sources){.rows = rows,
					 .units = model_units_by_place(profile),
					 .cost = model_sample_cost(profile)};
	if (!sources->units || !by_row_init(&sources->samples, profile->n_samples) ||
	    !by_row_init(&sources->traffic, profile->n_traffic))
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_samples; i++)
		sources->samples.row_of[i] = row_of_sample(rows, model, i);
	for (size_t i = 0; i < profile->n_traffic; i++)
		sources->traffic.row_of[i] =
			(uint32_t)model_row_at(rows, profile->traffic[i].module,
					       profile->traffic[i].offset, NULL);
	by_row_sort(&sources->samples);
	by_row_sort(&sources->traffic);
	return NULL;
}

void loop_sources_deinit(struct loop_sources *sources)
{
	free(sources->samples.row_of);
	free(sources->samples.sorted);
	free(sources->traffic.row_of);
	free(sources->traffic.sorted);
	free(sources->units);
}

/* ---- figures ---- */

static void add_units(const struct filler *filler, const struct flow_node *node,
		      const struct work *work, struct tally *tally)
{
	const struct profile *profile = filler->profile;
	struct tally unit;
	model_tally_unit(work, &unit);
	for (size_t i = model_first_units(profile, filler->sources->units, filler->module,
					  node->offset);
	     i < profile->n_units; i++) {
		const struct profile_units *units = &profile->units[filler->sources->units[i]];
		if (units->module != filler->module || units->offset != node->offset)
			return;
		model_tally_add(tally, &unit, units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
	}
}

static void add_work(const struct filler *filler)
{
	for (size_t i = 0; i < filler->graph->n_nodes; i++) {
		const struct flow_node *node = &filler->graph->nodes[i];
		const struct profile_block *block = &filler->profile->blocks[node->block];
		struct work work;
		struct tally once = {0};
		if (node->loop == PROFILE_NONE ||
		    !work_of_bytes(block->bytes + node->at, block->size - node->at, &work))
			continue;
		struct tally *tally = &filler->function->loops[node->loop].tally;
		model_tally_fixed(&once, &work);
		model_tally_add(tally, &once, node->n > 0 ? node->n : 0);
		if (work.units != UNITS_NONE)
			add_units(filler, node, &work, tally);
	}
}

static struct model_loop *loop_around(const struct filler *filler, uint64_t offset)
{
	const struct flow_node *node = flow_node_around(filler->graph, offset);
	return node && node->loop != PROFILE_NONE ? &filler->function->loops[node->loop] : NULL;
}

static void add_time(const struct filler *filler)
{
	const struct profile *profile = filler->profile;
	const struct by_row *by = &filler->sources->samples;
	for (size_t i = by_row_first(by, filler->row);
	     i < by->n && by->row_of[by->sorted[i]] == filler->row; i++) {
		const struct profile_sample *sample = &profile->samples[by->sorted[i]];
		struct model_loop *loop =
			loop_around(filler, profile->frames[sample->frame].offset);
		if (!loop)
			continue;
		loop->n_samples++;
		model_add_ns(&loop->time_ns, model_sample_weight(sample, filler->sources->cost));
	}
}

static void add_lines(struct traffic_lines *sum, const struct traffic_lines *part)
{
	for (int k = 0; k < CACHE_CLASSES; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			sum->by_class[k][e] += part->by_class[k][e];
}

static struct rf_error *add_traffic(const struct filler *filler, unsigned n_classes)
{
	struct model_function *function = filler->function;
	const struct by_row *by = &filler->sources->traffic;
	struct traffic_lines *lines = calloc(function->n_loops, sizeof(*lines));
	if (!lines)
		return rf_error_no_memory();
	for (size_t i = by_row_first(by, filler->row);
	     i < by->n && by->row_of[by->sorted[i]] == filler->row; i++) {
		const struct profile_traffic *traffic = &filler->profile->traffic[by->sorted[i]];
		struct model_loop *loop = loop_around(filler, traffic->offset);
		if (loop && traffic->class < n_classes)
			model_add_lines(&lines[loop - function->loops], traffic);
	}
	for (size_t i = function->n_loops; i-- > 0;) {
		struct model_loop *loop = &function->loops[i];
		if (loop->parent != PROFILE_NONE)
			add_lines(&lines[loop->parent], &lines[i]);
		loop->bytes = model_bytes_of(&lines[i], n_classes);
	}
	free(lines);
	return NULL;
}

/* Loops hold what the loops within them hold. */
static void add_to_parents(struct model_function *function)
{
	for (size_t i = function->n_loops; i-- > 0;) {
		const struct model_loop *loop = &function->loops[i];
		if (loop->parent == PROFILE_NONE)
			continue;
		struct model_loop *parent = &function->loops[loop->parent];
		model_tally_add(&parent->tally, &loop->tally, 1);
		parent->n_samples += loop->n_samples;
		model_add_ns(&parent->time_ns, loop->time_ns);
	}
}

struct rf_error *loop_figures(const struct loop_sources *sources, const struct flow_graph *graph,
			      uint32_t row, const struct model *model)
{
	const struct profile *profile = sources->rows->profile;
	const struct filler filler = {.sources = sources,
				      .profile = profile,
				      .graph = graph,
				      .function = &sources->rows->rows[row],
				      .row = row,
				      .module = profile->functions[row].module};
	if (!filler.function->n_loops)
		return NULL;
	add_work(&filler);
	add_time(&filler);
	add_to_parents(filler.function);
	return model->traced ? add_traffic(&filler, model->traced_classes) : NULL;
}
