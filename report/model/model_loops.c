/* The loops of each function, from the control transfers in the blocks that were executed: which
 * code is a function's, and what its loops did: work of their instructions, time of the samples and
 * traffic of the lines in them. */
#include "report/model/model_loops.h"

#include "base/array.h"
#include "base/parallel.h"
#include "base/search.h"
#include "insn/insn_cache.h"
#include "report/model/flow_graph.h"
#include "report/model/model_code.h"
#include "report/model/model_count.h"
#include "report/model/model_irregular.h"
#include "report/model/model_processes.h"

#include <assert.h>
#include <stdlib.h>

#define LEAST_PIECES 2000 /* for which a thread is worth while */

/* What is known of the whole program, by function.  A load is in one function, and only who looks
 * at that changes it (irregular). */
struct program {
	const struct model_rows *rows;
	const struct profile *profile;
	struct model *model;
	int64_t *executions;            /* per block */
	struct by_key samples, traffic; /* by their row */
	uint32_t *units;                /* by (module, offset) */
	struct irregular_loads irregular;
	size_t n_parts;
	struct finder *parts;
};

/* Looks at functions one after another; what it finds is theirs and its own. */
struct finder {
	const struct program *program;
	const struct model_rows *rows;
	const struct profile *profile;
	const struct model *model;
	struct model_loop_code *loop_code; /* that of struct model, of these functions */
	size_t n_loop_code, cap_loop_code;
	struct insn_cache *insns;
	/* of the function that is looked at */
	uint32_t row, module;
	struct model_function *function;
	struct flow_graph graph;
};

/* ---- which code and which samples are a function's ---- */

static void sum_executions(struct program *program)
{
	const struct profile *profile = program->profile;
	for (size_t i = 0; i < profile->n_counts; i++) {
		int64_t *sum = &program->executions[profile->counts[i].block];
		*sum = flow_add(*sum, profile->counts[i].n);
	}
}

/* A sample that was not counted is in no loop. */
static uint32_t row_of_sample(const struct program *program, size_t i)
{
	const uint32_t leaf = program->profile->samples[i].frame;
	if (leaf == PROFILE_NONE || program->model->uncounted_samples[i])
		return PROFILE_NONE;
	const struct profile_frame *frame = &program->profile->frames[leaf];
	return (uint32_t)model_row_at(program->rows, frame->module, frame->offset, NULL);
}

static struct rf_error *find_samples(struct program *program)
{
	const struct profile *profile = program->profile;
	const size_t n_samples = profile->n_samples, n_traffic = profile->traffic.n;
	uint32_t *row_of = malloc((n_samples + n_traffic + 1) * sizeof(*row_of));
	if (!row_of)
		return rf_error_no_memory();
	for (size_t i = 0; i < n_samples; i++)
		row_of[i] = row_of_sample(program, i);
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	for (size_t i = n_samples; (row = packed_reader_next(&reader)); i++)
		row_of[i] = (uint32_t)model_row_at(program->rows, row->module, row->offset, NULL);
	const size_t n = program->rows->n_places;
	struct rf_error *error =
		by_key_init(&program->samples, n, row_of, sizeof(*row_of), n_samples)
			?: by_key_init(&program->traffic, n, row_of + n_samples, sizeof(*row_of),
				       n_traffic);
	free(row_of);
	return error;
}

/* ---- figures ---- */

static void add_units(const struct finder *finder, const struct flow_node *node,
		      const struct work *work, struct tally_main *tally)
{
	const struct profile *profile = finder->profile;
	struct tally whole;
	model_tally_unit(work, &whole);
	const struct tally_main unit = model_tally_main(&whole);
	for (size_t i = model_first_units(profile, finder->program->units, finder->module,
					  node->offset);
	     i < profile->n_units; i++) {
		const struct profile_units *units = &profile->units[finder->program->units[i]];
		if (units->module != finder->module || units->offset != node->offset)
			return;
		model_main_add(tally, &unit, units->n < INT64_MAX ? (int64_t)units->n : INT64_MAX);
	}
}

/* What neighbours that ran as often do is added at once. */
static void add_work(const struct finder *finder)
{
	const struct flow_node *nodes = finder->graph.nodes;
	struct model_loop *loops = finder->function->loops;
	struct tally_main once = {0};
	for (size_t i = 0, n = finder->graph.n_nodes; i < n; i++) {
		const struct flow_node *node = &nodes[i];
		const struct profile_block *block = &finder->profile->blocks[node->block];
		if (node->loop == PROFILE_NONE)
			continue;
		const struct work *work = insn_cache_work(finder->insns, block->bytes + node->at,
							  block->size - node->at);
		if (work)
			model_main_fixed(&once, work);
		if (work && work->units != UNITS_NONE)
			add_units(finder, node, work, &loops[node->loop].tally);
		if (i + 1 < n && node[1].loop == node->loop && node[1].n == node->n)
			continue;
		model_main_add(&loops[node->loop].tally, &once, node->n > 0 ? node->n : 0);
		once = (struct tally_main){0};
	}
}

static struct model_loop *loop_around(const struct finder *finder, uint64_t offset)
{
	const struct flow_node *node = flow_node_around(&finder->graph, offset);
	return node && node->loop != PROFILE_NONE ? &finder->function->loops[node->loop] : NULL;
}

static void add_time(const struct finder *finder)
{
	const struct profile *profile = finder->profile;
	const struct by_key *by = &finder->program->samples;
	for (size_t i = by->first[finder->row]; i < by->first[finder->row + 1]; i++) {
		const struct profile_sample *sample = &profile->samples[by->items[i]];
		struct model_loop *loop =
			loop_around(finder, profile->frames[sample->frame].offset);
		if (!loop)
			continue;
		loop->n_samples++;
		model_add_ns(&loop->time_ns, finder->model->sample_ns[by->items[i]]);
	}
}

static struct rf_error *add_traffic(const struct finder *finder, unsigned n_classes)
{
	struct model_function *function = finder->function;
	const struct by_key *by = &finder->program->traffic;
	if (by->first[finder->row] == by->first[finder->row + 1])
		return NULL; /* nothing moved: all their figures are 0 */
	struct traffic_lines *lines = calloc(function->n_loops, sizeof(*lines));
	function->loop_bytes = malloc(function->n_loops * sizeof(*function->loop_bytes));
	if (!lines || !function->loop_bytes) {
		free(lines);
		return rf_error_no_memory();
	}
	struct packed_reader reader = packed_reader_of(&finder->profile->traffic);
	for (size_t i = by->first[finder->row]; i < by->first[finder->row + 1]; i++) {
		const struct profile_traffic *traffic = packed_reader_at(&reader, by->items[i]);
		struct model_loop *loop = loop_around(finder, traffic->offset);
		if (loop && traffic->class < n_classes)
			model_add_lines(&lines[loop - function->loops], traffic);
	}
	for (size_t i = function->n_loops; i-- > 0;) {
		struct model_loop *loop = &function->loops[i];
		if (loop->parent != PROFILE_NONE)
			model_sum_lines(&lines[loop->parent], &lines[i], n_classes);
		function->loop_bytes[i] = model_bytes_of(&lines[i], n_classes);
		loop->bytes = &function->loop_bytes[i];
	}
	free(lines);
	return NULL;
}

static void add_to_parents(struct model_function *function)
{
	for (size_t i = function->n_loops; i-- > 0;) {
		const struct model_loop *loop = &function->loops[i];
		if (loop->parent == PROFILE_NONE)
			continue;
		struct model_loop *parent = &function->loops[loop->parent];
		model_main_add(&parent->tally, &loop->tally, 1);
		parent->n_samples += loop->n_samples;
		model_add_ns(&parent->time_ns, loop->time_ns);
	}
}

/* Fills the loops of the function at hand, each with what the loops within have. */
static struct rf_error *add_figures(const struct finder *finder)
{
	const struct model *model = finder->model;
	const bool wanted = finder->rows->choice.loops;
	if (!finder->function->n_loops)
		return NULL;
	if (wanted)
		add_work(finder);
	add_time(finder);
	add_to_parents(finder->function);
	if (!wanted)
		return NULL;
	return model->traced ? add_traffic(finder, model->traced_classes) : NULL;
}

/* ---- all of it ---- */

/* Says which code is in which loop, for sums over that code. */
static struct rf_error *keep_code(struct finder *finder)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < finder->graph.n_nodes; i++) {
		const struct flow_node *node = &finder->graph.nodes[i];
		struct model_loop_code *last =
			finder->n_loop_code ? &finder->loop_code[finder->n_loop_code - 1] : NULL;
		struct model_loop_code code = {finder->module, finder->row, node->loop,
					       node->offset, node->offset + node->length};
		if (node->loop == PROFILE_NONE)
			continue;
		if (last && last->function == finder->row && last->loop == node->loop &&
		    last->end == node->offset)
			last->end = code.end;
		else
			error = rf_array_add(finder->loop_code, finder->n_loop_code,
					     finder->cap_loop_code, code);
	}
	return error;
}

/* Where the loops were not asked for, they have done their service when the code was read. */
static struct rf_error *keep_loops(struct finder *finder)
{
	struct model_function *function = finder->function;
	if (finder->rows->choice.loops)
		return keep_code(finder);
	free(function->loops);
	function->loops = NULL;
	function->n_loops = function->cap_loops = 0;
	return NULL;
}

/* Adds the executed code of a row to the graph; false: there is none. */
static bool add_code(struct finder *finder, uint32_t row, struct rf_error **error)
{
	const struct by_key *by = &finder->rows->pieces_of;
	const int64_t *executions = finder->program->executions;
	bool any = false;
	for (size_t i = by->first[row]; i < by->first[row + 1] && !*error; i++) {
		const struct model_piece *piece = &finder->rows->pieces[by->items[i]];
		if (!executions[piece->block])
			continue;
		any = true;
		*error = flow_graph_add(&finder->graph, finder->profile, piece->block, piece->from,
					piece->to, executions[piece->block]);
	}
	return any;
}

static struct rf_error *look_at(struct finder *finder, uint32_t row)
{
	const struct program *program = finder->program;
	const struct profile_function *code = &finder->profile->functions[row];
	struct flow_graph *graph = &finder->graph;
	struct rf_error *error = NULL;
	finder->row = row;
	finder->module = code->module;
	finder->function = &finder->rows->rows[row];
	const bool timed = finder->function->n_samples > 0; /* the code is to tell of its time */
	if (!add_code(finder, row, &error))
		return error;
	error = error ?: flow_graph_find_loops(graph, code, finder->function)
			?: add_figures(finder)
			?: model_read_irregular(&program->irregular, finder->insns, finder->module,
						graph, finder->function)
			?: (timed ? model_read_code(finder->profile, finder->insns, graph, code, finder->function)
				  : NULL)
			?: keep_loops(finder);
	flow_graph_clear(graph);
	return error;
}

static struct rf_error *look_at_part(size_t part, void *context)
{
	struct program *program = context;
	struct finder *finder = &program->parts[part];
	const struct model_rows *rows = program->rows;
	struct rf_error *error = NULL;
	*finder = (struct finder){.program = program,
				  .rows = rows,
				  .profile = program->profile,
				  .model = program->model,
				  .insns = insn_cache_create()};
	if (!finder->insns)
		return rf_error_no_memory();
	const size_t end = model_part_of_rows(rows, part + 1, program->n_parts);
	for (size_t row = model_part_of_rows(rows, part, program->n_parts); !error && row < end;
	     row++)
		if (row < program->profile->n_functions && /* code without a name is no function */
		    (rows->choice.loops || rows->rows[row].n_samples))
			error = look_at(finder, (uint32_t)row);
	flow_graph_deinit(&finder->graph);
	insn_cache_destroy(finder->insns);
	return error;
}

/* Takes what the parts have found in the order of the functions, which is theirs. */
static struct rf_error *join_parts(const struct program *program)
{
	struct model *model = program->model;
	size_t n = 0;
	for (size_t part = 0; part < program->n_parts; part++)
		n += program->parts[part].n_loop_code;
	model->loop_code = malloc((n + 1) * sizeof(*model->loop_code));
	if (!model->loop_code)
		return rf_error_no_memory();
	model->cap_loop_code = n + 1;
	for (size_t part = 0; part < program->n_parts; part++) {
		const struct finder *finder = &program->parts[part];
		if (finder->n_loop_code)
			memcpy(model->loop_code + model->n_loop_code, finder->loop_code,
			       finder->n_loop_code * sizeof(*finder->loop_code));
		model->n_loop_code += finder->n_loop_code;
	}
	return NULL;
}

/* Each part of the functions in a thread: no function knows of another. */
static struct rf_error *look_at_all(struct program *program)
{
	struct finder parts[PARALLEL_MOST] = {0};
	program->parts = parts;
	program->n_parts = parallel_parts(program->rows->n_pieces, LEAST_PIECES);
	struct rf_error *error =
		parallel_run(program->n_parts, look_at_part, program) ?: join_parts(program);
	for (size_t part = 0; part < program->n_parts; part++)
		free(parts[part].loop_code);
	return error;
}

/* They stand together, in the order of what they are in; PROFILE_NONE + 1 is 0. */
const struct model_loop *model_loops_within(const struct model_function *f, uint32_t loop,
					    size_t *n)
{
	const struct model_loop *loops = f->loops;
	const uint32_t key = loop + 1;
	const size_t first = rf_search(f->n_loops, i, (uint32_t)(loops[i].parent + 1) < key);
	*n = rf_search(f->n_loops, i, (uint32_t)(loops[i].parent + 1) <= key) - first;
	return loops + first;
}

/* Loops within a loop stand behind it. */
size_t model_loops_at(const struct model_function *f, uint64_t offset)
{
	for (size_t i = f->n_loops; i-- > 0;)
		if (f->loops[i].start <= offset && offset < f->loops[i].end)
			return i;
	return f->n_loops;
}

struct rf_error *model_find_loops(struct model_rows *rows, struct model *model)
{
	const struct profile *profile = rows->profile;
	struct program program = {.rows = rows,
				  .profile = profile,
				  .model = model,
				  .executions = calloc(profile->n_blocks + 1,
						       sizeof(*program.executions)),
				  .units = model_units_by_place(profile)};
	assert(!rows->groups && !rows->saved);
	struct rf_error *error = program.executions && program.units ? NULL : rf_error_no_memory();
	if (!error)
		sum_executions(&program);
	error = error ?: find_samples(&program)
			?: irregular_loads_init(&program.irregular, profile, model)
			?: look_at_all(&program);
	irregular_loads_deinit(&program.irregular);
	by_key_deinit(&program.samples);
	by_key_deinit(&program.traffic);
	free(program.units);
	free(program.executions);
	return error;
}
