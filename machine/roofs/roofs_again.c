/* Chooses the rows that are measured again, and measures them. */
#include "machine/roofs/roofs_again.h"

#include "base/clock.h"
#include "machine/data/roof_history.h"
#include "machine/roofs/roofs_run.h"
#include "machine/roofs/roofs_sites.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/* Shorter than when the roofs are made: what matters is the mode that the machine is in. */
static const struct roofs_effort effort = {
	.repeat_ns = 100000,
	.search_rounds = 1,
	.repeats = 4,
	.stretch = 4,
	.budget_ns = UINT64_C(16000000000), /* the rows are few enough beforehand */
};

/* What things cost, generously, as measured on a core of 3 GHz: a row, a row that ends at the
 * memory, a byte that is mapped and filled, one that is set to zero, one that is linked for random
 * access. */
#define ROW_NS 4e6
#define MEMORY_ROW_NS 8e6
#define TOUCH_NS 0.25
#define ZERO_NS 0.1
#define LINK_NS 0.6

/* A row that may be measured again. */
struct candidate {
	struct roof *row;
	size_t bytes; /* of each thread's memory that it needs */
	bool first;   /* tells the machine's mode */
	int64_t last; /* when it was measured, s */
	double cost_ns;
};

static int64_t last_visit(const struct roof *row)
{
	return row->n_history ? row->history[row->n_history - 1].when_s : 0;
}

static double cost_of(const struct roof *row, size_t bytes)
{
	double cost = row->level == ROOF_LEVEL_DRAM ? MEMORY_ROW_NS : ROW_NS;
	if (row->kind == ROOF_ZEROS)
		cost += ZERO_NS * (double)bytes;
	if (row->op == ROOF_OP_RANDOM || row->op == ROOF_OP_CHASE)
		cost += LINK_NS * (double)bytes;
	return cost;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *l = left, *r = right;
	if (l->first != r->first)
		return l->first ? -1 : 1;
	if (l->last != r->last)
		return l->last < r->last ? -1 : 1;
	return (l->row > r->row) - (l->row < r->row);
}

/* The rows that may be measured, the most wanted first; returns how many.  Rows of words that this
 * version does not know, and of NUMA nodes, are left as they are. */
static size_t list_candidates(const struct topology *topology, const struct roofs_again *again,
			      struct machine *machine, struct candidate *list)
{
	const int64_t now = time(NULL);
	size_t n = 0;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		struct roof *row = &machine->roofs[i];
		const int64_t last = last_visit(row);
		if (row->by_node || row->threads > topology->usable_threads ||
		    row->level == ROOF_LEVEL_UNKNOWN || row->threads > again->n_idle)
			continue;
		if (last > now - ROOFS_AGAIN_SECONDS && last <= now) {
			row->now = row->history[row->n_history - 1].best;
			continue;
		}
		const size_t bytes = roofs_row_bytes(topology, row);
		list[n++] = (struct candidate){
			.row = row,
			.bytes = bytes,
			.first = row->kind == ROOF_BANDWIDTH && row->level == ROOF_LEVEL_DRAM &&
				 row->threads == topology->usable_threads &&
				 (row->op == ROOF_OP_READ || row->op == ROOF_OP_TRIAD),
			.last = last,
			.cost_ns = cost_of(row, bytes),
		};
	}
	qsort(list, n, sizeof(*list), compare_candidates);
	return n;
}

/* Keeps those that fit into the time, in their order; *bytes gets what memory each thread needs. */
static size_t choose(struct candidate *list, size_t n, uint64_t budget_ns, size_t *bytes)
{
	double spent = 0;
	size_t chosen = 0;
	*bytes = ARENA_HUGE_PAGE;
	for (size_t i = 0; i < n; i++) {
		const size_t more = list[i].bytes > *bytes ? list[i].bytes - *bytes : 0;
		const double cost = list[i].cost_ns + TOUCH_NS * (double)more;
		if (spent + cost > (double)budget_ns)
			continue;
		spent += cost;
		*bytes += more;
		list[chosen++] = list[i];
	}
	return chosen;
}

/* The thread counts of the chosen rows, ascending; returns how many. */
static size_t list_counts(const struct candidate *list, size_t n, const struct machine *machine,
			  int *counts)
{
	size_t n_counts = 0;
	for (size_t c = 0; c < machine->n_counts; c++)
		for (size_t i = 0; i < n; i++)
			if (list[i].row->threads == machine->counts[c].threads) {
				counts[n_counts++] = machine->counts[c].threads;
				break;
			}
	return n_counts;
}

/* What is chosen. */
struct chosen {
	struct candidate *list;
	size_t n;
};

static const struct candidate *find_chosen(const struct chosen *chosen, const struct roof *row)
{
	for (size_t i = 0; i < chosen->n; i++)
		if (chosen->list[i].row->threads == row->threads &&
		    roof_is_same(chosen->list[i].row, row))
			return &chosen->list[i];
	return NULL;
}

static bool wants(const void *context, const struct roof *row)
{
	return find_chosen(context, row) != NULL;
}

/* Of bandwidth, the kernels of the width that won are enough. */
static void keep_tasks(struct roof_job *job, enum roof_isa isa)
{
	size_t n = 0;
	for (size_t i = 0; i < job->n_tasks; i++)
		n += job->tasks[i].isa == isa;
	if (n == 0)
		return;
	n = 0;
	for (size_t i = 0; i < job->n_tasks; i++)
		if (job->tasks[i].isa == isa)
			job->tasks[n++] = job->tasks[i];
	job->n_tasks = n;
}

static struct rf_error *measure_row(struct roofs_run *run, struct roof_job *job, struct roof *row)
{
	/* Random access has a state for each of its kernels: all stay. */
	if (row->kind != ROOF_COMPUTE && row->op != ROOF_OP_RANDOM)
		keep_tasks(job, row->isa);
	struct rf_error *error = roofs_visit(run, job);
	/* A slow mode lasts; a moment of other load does not. */
	if (!error && job->series.highest < ROOF_MODE * row->best)
		error = roofs_visit(run, job);
	if (error)
		return error;
	struct roof again = roofs_finished_row(job);
	again.now = again.best;
	roof_take_again(row, &again);
	return NULL;
}

/* One row at least, so that the oldest get their turn where memory is slow to be had. */
static struct rf_error *measure_chosen(struct roofs_run *run, const struct chosen *chosen,
				       uint64_t end_ns, size_t *measured)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < run->n_jobs && !error; i++) {
		struct roof_job *job = &run->jobs[i];
		const struct candidate *candidate = find_chosen(chosen, &job->row);
		if (roofs_arena_bytes(job->site) < candidate->bytes ||
		    (*measured && clock_now_ns() > end_ns))
			continue;
		error = measure_row(run, job, candidate->row);
		*measured += !error;
	}
	return error;
}

static struct rf_error *run_chosen(const struct topology *topology, const struct chosen *chosen,
				   const struct roofs_wish *wish, uint64_t end_ns, size_t *measured)
{
	struct roofs_run run = {
		.topology = topology,
		.wish = wish,
		.started_ns = clock_now_ns(),
		.microarchitecture = microarchitecture_here(),
	};
	struct rf_error *error = roofs_make_sites(&run);
	if (!error)
		error = roofs_plan(&run);
	if (!error)
		error = measure_chosen(&run, chosen, end_ns, measured);
	roofs_run_deinit(&run);
	return error;
}

struct rf_error *roofs_measure_again(const struct topology *topology,
				     const struct roofs_again *again, struct machine *machine,
				     size_t *n_measured)
{
	struct chosen chosen = {.list = calloc(machine->n_roofs + 1, sizeof(*chosen.list))};
	int *counts = calloc(machine->n_counts + 1, sizeof(*counts));
	struct rf_error *error = chosen.list && counts ? NULL : rf_error_no_memory();
	struct roofs_wish wish = {.counts = counts,
				  .effort = effort,
				  .wants = wants,
				  .wants_context = &chosen,
				  .touch_ns = again->budget_ns / 2};
	const uint64_t end_ns = clock_now_ns() + again->budget_ns;
	*n_measured = 0;
	if (!error) {
		chosen.n = list_candidates(topology, again, machine, chosen.list);
		chosen.n = choose(chosen.list, chosen.n, again->budget_ns, &wish.most_bytes);
		wish.n_counts = list_counts(chosen.list, chosen.n, machine, counts);
	}
	/* A machine whose rows are of other counts than it says has none to be measured. */
	if (wish.n_counts)
		error = run_chosen(topology, &chosen, &wish, end_ns, n_measured);
	free(counts);
	free(chosen.list);
	if (*n_measured)
		roofs_mark_levels(machine->roofs, machine->n_roofs);
	return error;
}
