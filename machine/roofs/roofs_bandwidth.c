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
/* DRAM is walked through a window of about so much of each array at a time (a walk by size is not:
 * the best windows would be those that happen to be in the cache).  Windows follow each other
 * cyclically, so that one is only met again after all the others, and a repeat can be short however
 * large the arrays are. */
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
	/* Stores of zeros may be faster.  AMD's Zen 4 was seen to store whole lines of zeros that
	 * go past the caches 2 to 3 times as fast (non-temporal, and a string instruction whose
	 * length is beyond the last-level cache), everything else alike; Intel's Ice Lake was
	 * reported to leave out write-backs of zeros over zeros. */
	bool zeros;
	bool narrow; /* by accesses of one element, too */
} operations[] = {
	{ROOF_OP_READ, "8 B/element loaded", 1, false, true},
	{ROOF_OP_WRITE, "8 B/element stored, write-allocate not counted", 2, true, true},
	{ROOF_OP_COPY, "16 B/element: load, store; write-allocate not counted", 24.0 / 16, true,
	 true},
	{ROOF_OP_TRIAD, "24 B/element: 2 loads, store; write-allocate not counted", 32.0 / 24,
	 false, true},
	{ROOF_OP_UPDATE, "16 B/element: load, store in place", 1, false, true},
	{ROOF_OP_DAXPY, "24 B/element: 2 loads, store in place", 1, false, true},
	{ROOF_OP_WRITE_REP, "8 B/element stored by rep stos; write-allocate not counted", 0, true},
	{ROOF_OP_COPY_REP, "16 B/element by rep movs; write-allocate not counted", 0},
	{ROOF_OP_WRITE_NT, "8 B/element stored, non-temporal", 1, true},
	{ROOF_OP_COPY_NT, "16 B/element: load, non-temporal store", 1, true},
	{ROOF_OP_TRIAD_NT, "24 B/element: 2 loads, non-temporal store", 1, true},
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* One thread's place in a measurement. */
struct part {
	_Alignas(64) struct bandwidth_state state;
	char *arrays[3];
	size_t window; /* bytes of each array in one call */
	size_t n_windows, cursor;
	size_t bytes; /* of all arrays, from the beginning of the arena */
};

/* A kernel, as a task. */
struct bandwidth_task {
	const struct bandwidth_kernel *kernel;
	struct part *parts;
	bool whole; /* all windows at once */
};

/* The context of a job. */
struct bandwidth_job {
	struct bandwidth_task tasks[BANDWIDTH_MAX_VARIANTS + 1];
	struct part parts[];
};

static void run_kernel(void *context, int thread, uint64_t count)
{
	struct bandwidth_task *task = context;
	struct part *part = &task->parts[thread];
	if (task->whole || part->n_windows == 1) {
		task->kernel->run(part->arrays[0], part->arrays[1], part->arrays[2],
				  part->window * part->n_windows, count, &part->state);
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		size_t at = part->cursor * part->window;
		task->kernel->run(part->arrays[0] + at, part->arrays[1] + at, part->arrays[2] + at,
				  part->window, 1, &part->state);
		part->cursor = (part->cursor + 1) % part->n_windows;
	}
}

/* Whether the data may be larger than the caches: memory, or a walk by size. */
static bool is_beyond(enum roof_level level)
{
	return level == ROOF_LEVEL_DRAM || level == ROOF_LEVEL_NONE;
}

/* Divides a thread's arena into the arrays of an operation. */
static void place_arrays(struct part *part, const struct arena *arena,
			 const struct level_size *level, int n_arrays)
{
	size_t whole = (level->bytes / n_arrays - (n_arrays > 1 ? ARRAY_SKEW : 0)) /
		       BANDWIDTH_GRAIN * BANDWIDTH_GRAIN; /* not 0: see roofs_levels() */
	memset(part, 0, sizeof(*part));
	bandwidth_state_init(&part->state);
	part->bytes = level->bytes;
	part->window = whole;
	part->n_windows = 1;
	if (level->level == ROOF_LEVEL_DRAM && whole >= 2 * WINDOW) {
		part->n_windows = whole / WINDOW;
		part->window = whole / part->n_windows / BANDWIDTH_GRAIN * BANDWIDTH_GRAIN;
	}
	for (int i = 0; i < 3; i++)
		part->arrays[i] = arena->base + (i < n_arrays ? i : 0) * (whole + ARRAY_SKEW);
}

/* DRAM: fills the last-level cache with lines as the operation leaves them (written ones for a
 * write); otherwise its first repeats would cast out the clean lines of the operation before and be
 * too fast.  A walk by size is walked once. */
static void warm_up(void *context, int thread)
{
	struct roof_job *job = context;
	struct bandwidth_job *own = job->context;
	struct bandwidth_task *task = &own->tasks[job->series.best];
	size_t n = own->parts[thread].n_windows;
	run_kernel(task, thread, task->whole ? 1 : n / 3 + 1);
}

/* Makes a thread's data zeros, which no operation on them changes. */
static void fill_with_zeros(void *context, int thread)
{
	struct roof_job *job = context;
	struct part *part = &((struct bandwidth_job *)job->context)->parts[thread];
	memset(job->site->arenas[thread].base, 0, part->bytes);
	memset(part->state.constant, 0, sizeof(part->state.constant));
	if (is_beyond(job->row.level))
		warm_up(context, thread);
}

/* Those of vectors and strings, or those of one element at a time. */
static size_t find_kernels(enum roof_op op, bool narrow,
			   const struct bandwidth_kernel *kernels[BANDWIDTH_MAX_VARIANTS])
{
	size_t n = 0;
	for (size_t i = 0; i < n_bandwidth_kernels && n < BANDWIDTH_MAX_VARIANTS; i++)
		if (bandwidth_kernels[i].op == op && cpu_has(bandwidth_kernels[i].needs) &&
		    (bandwidth_kernels[i].isa == ROOF_ISA_SCALAR) == narrow)
			kernels[n++] = &bandwidth_kernels[i];
	return n;
}

static void set_theory(const struct roofs_run *run, const struct operation *operation,
		       const struct level_size *level, enum roof_isa isa, struct roof_job *job)
{
	if (level->level == ROOF_LEVEL_DRAM && operation->memory_bytes > 0)
		job->theory = run->memory_gbs / operation->memory_bytes;
	if (!is_beyond(level->level) && run->microarchitecture)
		job->per_cycle =
			theory_bandwidth(run->microarchitecture, level->level, operation->op, isa);
}

static void fill_row(enum roof_kind kind, enum roof_op op, const char *convention,
		     const struct level_size *level, struct roof *row)
{
	row->kind = kind;
	row->op = op;
	row->level = level->level;
	snprintf(row->unit, sizeof(row->unit), "GB/s");
	snprintf(row->bytes_convention, sizeof(row->bytes_convention), "%s", convention);
}

static struct measure_task make_task(struct bandwidth_task *task,
				     const struct bandwidth_kernel *kernel, struct part *parts,
				     bool whole)
{
	const size_t bytes = parts[0].window * (whole ? parts[0].n_windows : 1);
	*task = (struct bandwidth_task){kernel, parts, whole};
	return (struct measure_task){.run = run_kernel,
				     .context = task,
				     .work = (double)bytes / 8 * kernel->bytes_per_element,
				     .isa = kernel->isa};
}

/* Adds a row of an operation; of a walk by size where `level` has no level. */
static struct rf_error *plan_row(struct roofs_run *run, const struct roof_site *site,
				 enum roof_kind kind, const struct operation *operation,
				 const struct level_size *level)
{
	const struct bandwidth_kernel *kernels[BANDWIDTH_MAX_VARIANTS];
	size_t n = find_kernels(operation->op, kind == ROOF_NARROW, kernels);
	/* A string instruction may do another thing with what is larger than the caches. */
	const bool whole = kernels[0]->isa == ROOF_ISA_REP && level->level == ROOF_LEVEL_DRAM;
	struct roof_job job;
	struct bandwidth_job *context;
	struct rf_error *error =
		roofs_new_job(site, n + whole,
			      sizeof(*context) + site->n_threads * sizeof(struct part), &job);
	if (error)
		return error;
	context = job.context;
	for (int i = 0; i < site->n_threads; i++)
		place_arrays(&context->parts[i], &site->arenas[i], level, kernels[0]->arrays);
	for (size_t i = 0; i < n; i++)
		job.tasks[i] = make_task(&context->tasks[i], kernels[i], context->parts, false);
	if (whole)
		job.tasks[n] = make_task(&context->tasks[n], kernels[0], context->parts, true);
	for (size_t i = 0; i < job.n_tasks; i++)
		job.tasks[i].with_clock = !is_beyond(level->level);
	fill_row(kind, operation->op, operation->convention, level, &job.row);
	if (kind != ROOF_NARROW)
		set_theory(run, operation, level, kernels[0]->isa, &job);
	if (is_beyond(level->level) || kernels[0]->non_temporal)
		job.repeat_ns = MEMORY_REPEAT * run->wish->effort.repeat_ns;
	if (is_beyond(level->level))
		job.prepare = warm_up;
	if (kind == ROOF_ZEROS)
		job.prepare = fill_with_zeros;
	job.size_bytes = level->level == ROOF_LEVEL_NONE ? level->bytes : 0;
	return roofs_add_job(run, &job);
}

/* ---- random access ---- */

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

/* Each thread links its own lines, unless the row before has: see random_access_prepare(). */
static void link_lines(void *context, int thread)
{
	struct roof_job *job = context;
	struct random_job *own = job->context;
	struct arena *arena = &job->site->arenas[thread];
	if (arena->linked != own->bytes)
		random_access_prepare(arena->base, own->bytes, ROOFS_LINE_BYTES, SEED + thread);
	arena->linked = own->bytes;
	for (size_t i = 0; i < job->n_tasks; i++)
		random_state_init(&own->tasks[i].states[thread], arena->base, own->bytes,
				  ROOFS_LINE_BYTES, own->tasks[i].kernel->chains);
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
		job.tasks[i] =
			(struct measure_task){.run = run_random,
					      .context = &context->tasks[i],
					      .work = random_kernels[i].chains * ROOFS_LINE_BYTES,
					      .isa = ROOF_ISA_SCALAR};
	}
	job.prepare = link_lines;
	job.repeat_ns = 2 * run->wish->effort.repeat_ns;
	job.size_bytes = level->level == ROOF_LEVEL_NONE ? level->bytes : 0;
	fill_row(ROOF_BANDWIDTH, chase ? ROOF_OP_CHASE : ROOF_OP_RANDOM,
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
			error = plan_row(run, site, ROOF_BANDWIDTH, &operations[op],
					 &levels[level]);
	for (size_t level = 0; level < n && site->n_threads == 1 && !site->by_node; level++)
		for (size_t op = 0; op < N_OPERATIONS && !error; op++)
			if (operations[op].narrow)
				error = plan_row(run, site, ROOF_NARROW, &operations[op],
						 &levels[level]);
	return error;
}

struct rf_error *roofs_plan_zeros(struct roofs_run *run, const struct roof_site *site)
{
	struct level_size levels[SITE_LEVELS];
	size_t n = roofs_levels(run, site, levels);
	struct rf_error *error = NULL;
	/* The last cache and memory: nearer to the core they were seen to make no difference. */
	for (size_t level = n > 2 ? n - 2 : 0; level < n && !site->by_node; level++)
		for (size_t op = 0; op < N_OPERATIONS && !error; op++)
			if (operations[op].zeros)
				error = plan_row(run, site, ROOF_ZEROS, &operations[op],
						 &levels[level]);
	return error;
}

struct rf_error *roofs_plan_sizes(struct roofs_run *run, const struct roof_site *site)
{
	struct level_size sizes[SITE_SIZES];
	size_t n = site->n_threads == 1 && !site->by_node ? roofs_sizes(run, site, sizes) : 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++) {
		error = plan_random_row(run, site, &sizes[i], true);
		if (!error)
			error = plan_row(run, site, ROOF_BANDWIDTH, &operations[0], &sizes[i]);
	}
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
