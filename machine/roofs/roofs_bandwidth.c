/* Rows of bandwidth: one for each level and operation, and two of random access to whole lines. */
#include "machine/roofs/roofs_bandwidth.h"

#include "machine/kernels/bandwidth_kernels.h"
#include "machine/kernels/random_access.h"
#include "machine/roofs/roofs_sites.h"
#include "machine/topology/cpu_features.h"

#include <stdlib.h>
#include <string.h>

/* Arrays start this much off a multiple of 4 KiB from each other, so that a load is not held up by
 * an earlier store to another array with the same low 12 address bits ("4K aliasing"). */
#define ARRAY_SKEW 1344
/* DRAM is walked through a window of each array at a time.  Windows follow each other cyclically,
 * so that one is only met again after all the others, and a repeat can be short however large the
 * arrays are. */
#define WINDOW ARENA_HUGE_PAGE
/* Repeats that end at the memory are longer, so that the start of a window does not count and the
 * memory's own unevenness averages out. */
#define MEMORY_REPEAT 2

/* What an operation counts as bytes moved, and how many bytes memory moves for one of them: with a
 * line read before it is written (write-allocate), and written back later. */
static const struct operation {
	enum roof_op op;
	const char *convention;
	double memory_bytes;
} operations[] = {
	{ROOF_OP_READ, "8 B/element loaded", 1},
	{ROOF_OP_WRITE, "8 B/element stored, write-allocate not counted", 2},
	{ROOF_OP_COPY, "16 B/element: load, store; write-allocate not counted", 24.0 / 16},
	{ROOF_OP_TRIAD, "24 B/element: 2 loads, store; write-allocate not counted", 32.0 / 24},
	{ROOF_OP_UPDATE, "16 B/element: load, store in place", 1},
	{ROOF_OP_DAXPY, "24 B/element: 2 loads, store in place", 1},
	{ROOF_OP_WRITE_REP, "8 B/element stored by rep stos; write-allocate not counted", 0},
	{ROOF_OP_COPY_REP, "16 B/element by rep movs; write-allocate not counted", 0},
	{ROOF_OP_WRITE_NT, "8 B/element stored, non-temporal", 1},
	{ROOF_OP_COPY_NT, "16 B/element: load, non-temporal store", 1},
	{ROOF_OP_TRIAD_NT, "24 B/element: 2 loads, non-temporal store", 1},
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* One thread's place in a measurement. */
struct part {
	_Alignas(64) struct bandwidth_state state;
	char *arrays[3];
	size_t window; /* bytes of each array in one call */
	size_t n_windows, cursor;
};

/* A kernel, as a task. */
struct bandwidth_task {
	const struct bandwidth_kernel *kernel;
	struct part *parts;
};

/* The context of a job. */
struct bandwidth_job {
	struct bandwidth_task tasks[BANDWIDTH_MAX_VARIANTS];
	struct part parts[];
};

static void run_kernel(void *context, int thread, uint64_t count)
{
	struct bandwidth_task *task = context;
	struct part *part = &task->parts[thread];
	if (part->n_windows == 1) {
		task->kernel->run(part->arrays[0], part->arrays[1], part->arrays[2], part->window,
				  count, &part->state);
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		size_t at = part->cursor * part->window;
		task->kernel->run(part->arrays[0] + at, part->arrays[1] + at, part->arrays[2] + at,
				  part->window, 1, &part->state);
		part->cursor = (part->cursor + 1) % part->n_windows;
	}
}

/* Divides a thread's arena into the arrays of an operation. */
static void place_arrays(struct part *part, const struct arena *arena,
			 const struct level_size *level, int n_arrays)
{
	size_t whole = (level->bytes / n_arrays - (n_arrays > 1 ? ARRAY_SKEW : 0)) /
		       BANDWIDTH_GRAIN * BANDWIDTH_GRAIN; /* not 0: see roofs_levels() */
	memset(part, 0, sizeof(*part));
	bandwidth_state_init(&part->state);
	part->window = whole;
	part->n_windows = 1;
	if (level->level == ROOF_LEVEL_DRAM && whole >= 2 * WINDOW) {
		part->window = WINDOW;
		part->n_windows = whole / WINDOW;
	}
	for (int i = 0; i < 3; i++)
		part->arrays[i] = arena->base + (i < n_arrays ? i : 0) * (whole + ARRAY_SKEW);
}

/* DRAM: fills the last-level cache with lines as the operation leaves them (written ones for a
 * write); otherwise its first repeats would cast out the clean lines of the operation before and be
 * too fast. */
static void warm_up(void *context, int thread)
{
	struct roof_job *job = context;
	struct bandwidth_job *own = job->context;
	run_kernel(&own->tasks[job->series.best], thread, own->parts[thread].n_windows / 3 + 1);
}

static size_t find_kernels(enum roof_op op,
			   const struct bandwidth_kernel *kernels[BANDWIDTH_MAX_VARIANTS])
{
	size_t n = 0;
	for (size_t i = 0; i < n_bandwidth_kernels && n < BANDWIDTH_MAX_VARIANTS; i++)
		if (bandwidth_kernels[i].op == op && cpu_has(bandwidth_kernels[i].needs))
			kernels[n++] = &bandwidth_kernels[i];
	return n;
}

static void set_theory(const struct roofs_run *run, const struct operation *operation,
		       const struct level_size *level, enum roof_isa isa, struct roof_job *job)
{
	if (level->level == ROOF_LEVEL_DRAM && operation->memory_bytes > 0)
		job->theory = run->memory_gbs / operation->memory_bytes;
	if (level->level != ROOF_LEVEL_DRAM && run->microarchitecture)
		job->per_cycle =
			theory_bandwidth(run->microarchitecture, level->level, operation->op, isa);
}

static void fill_row(enum roof_op op, const char *convention, const struct level_size *level,
		     struct roof *row)
{
	row->kind = ROOF_BANDWIDTH;
	row->op = op;
	row->level = level->level;
	snprintf(row->unit, sizeof(row->unit), "GB/s");
	snprintf(row->bytes_convention, sizeof(row->bytes_convention), "%s", convention);
}

static struct rf_error *plan_row(struct roofs_run *run, const struct roof_site *site,
				 const struct operation *operation, const struct level_size *level)
{
	const struct bandwidth_kernel *kernels[BANDWIDTH_MAX_VARIANTS];
	size_t n = find_kernels(operation->op, kernels);
	struct roof_job job;
	struct bandwidth_job *context;
	struct rf_error *error =
		roofs_new_job(site, n, sizeof(*context) + site->n_threads * sizeof(struct part),
			      &job);
	if (error)
		return error;
	context = job.context;
	for (int i = 0; i < site->n_threads; i++)
		place_arrays(&context->parts[i], &site->arenas[i], level, kernels[0]->arrays);
	for (size_t i = 0; i < n; i++) {
		context->tasks[i] = (struct bandwidth_task){kernels[i], context->parts};
		job.tasks[i] = (struct measure_task){.run = run_kernel,
						     .context = &context->tasks[i],
						     .work = context->parts[0].window / 8.0 *
							     kernels[i]->bytes_per_element,
						     .with_clock = level->level != ROOF_LEVEL_DRAM,
						     .isa = kernels[i]->isa};
	}
	fill_row(operation->op, operation->convention, level, &job.row);
	set_theory(run, operation, level, kernels[0]->isa, &job);
	if (level->level == ROOF_LEVEL_DRAM || kernels[0]->non_temporal)
		job.repeat_ns = MEMORY_REPEAT * run->wish->effort.repeat_ns;
	if (level->level == ROOF_LEVEL_DRAM)
		job.prepare = warm_up;
	return roofs_add_job(run, &job);
}

/* ---- random access ---- */

#define LINE_BYTES 64
#define MAX_KERNELS 16
#define SEED 1

/* A kernel, as a task. */
struct random_task {
	const struct random_kernel *kernel;
	struct random_state *states; /* one a thread */
};

/* The context of a job. */
struct random_job {
	size_t bytes; /* of each thread's memory */
	struct random_task tasks[MAX_KERNELS];
	struct random_state states[]; /* one a thread and kernel: kernel-major */
};

static void run_random(void *context, int thread, uint64_t count)
{
	struct random_task *task = context;
	task->kernel->run(count, &task->states[thread]);
}

/* Each thread links its own lines: see random_access_prepare(). */
static void link_lines(void *context, int thread)
{
	struct roof_job *job = context;
	struct random_job *own = job->context;
	char *memory = job->site->arenas[thread].base;
	random_access_prepare(memory, own->bytes, LINE_BYTES, SEED + thread);
	for (size_t i = 0; i < job->n_tasks; i++)
		random_state_init(&own->tasks[i].states[thread], memory, own->bytes, LINE_BYTES,
				  own->tasks[i].kernel->chains);
}

/* Adds "random", the best number of chains, or "chase", a single one (that of the first kernel),
 * whose time is the latency. */
static struct rf_error *plan_random_row(struct roofs_run *run, const struct roof_site *site,
					const struct level_size *level, bool chase)
{
	size_t n = chase ? 1 : n_random_kernels;
	struct roof_job job;
	struct random_job *context;
	size_t states = n * site->n_threads * sizeof(struct random_state);
	struct rf_error *error = roofs_new_job(site, n, sizeof(*context) + states, &job);
	if (error)
		return error;
	context = job.context;
	context->bytes = level->bytes;
	for (size_t i = 0; i < n; i++) {
		context->tasks[i] = (struct random_task){&random_kernels[i],
							 context->states + i * site->n_threads};
		job.tasks[i] = (struct measure_task){.run = run_random,
						     .context = &context->tasks[i],
						     .work = random_kernels[i].chains * LINE_BYTES,
						     .isa = ROOF_ISA_SCALAR};
	}
	job.prepare = link_lines;
	job.repeat_ns = 2 * run->wish->effort.repeat_ns;
	fill_row(chase ? ROOF_OP_CHASE : ROOF_OP_RANDOM,
		 chase ? "64 B/line in random order, one dependent chain a thread"
		       : "64 B/line in random order, the best number of chains",
		 level, &job.row);
	return roofs_add_job(run, &job);
}

struct rf_error *roofs_plan_bandwidth(struct roofs_run *run, const struct roof_site *site)
{
	struct level_size levels[SITE_LEVELS];
	size_t n = roofs_levels(run, site, levels);
	struct rf_error *error = NULL;
	for (size_t level = 0; level < n; level++)
		for (size_t op = 0; op < N_OPERATIONS && !error; op++)
			error = plan_row(run, site, &operations[op], &levels[level]);
	return error;
}

struct rf_error *roofs_plan_random(struct roofs_run *run, const struct roof_site *site)
{
	struct level_size levels[SITE_LEVELS];
	size_t n = roofs_levels(run, site, levels);
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++) {
		error = plan_random_row(run, site, &levels[i], false);
		if (!error)
			error = plan_random_row(run, site, &levels[i], true);
	}
	return error;
}
