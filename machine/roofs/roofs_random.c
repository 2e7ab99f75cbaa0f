/* Rows of random access: whole lines in random order, which no prefetcher foresees. */
#include "machine/roofs/roofs_random.h"

#include "machine/kernels/random_access.h"
#include "machine/roofs/roofs_sites.h"

#include <stdlib.h>

#define LINE_BYTES 64
#define MAX_KERNELS 16
#define SEED 1

/* A kernel, as a task. */
struct random_task {
	const struct random_kernel *kernel;
	struct random_state *states;
};

/* The context of a job. */
struct random_job {
	size_t bytes; /* of each thread's memory */
	struct random_task tasks[MAX_KERNELS];
	struct random_state states[]; /* one a thread and kernel: kernel-major */
};

static void run_kernel(void *context, int thread, uint64_t count)
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

static struct rf_error *prepare(struct roofs_run *run, struct roof_job *job)
{
	team_run(job->site->team, link_lines, job);
	return NULL;
}

static bool is_chase(const struct random_kernel *kernel)
{
	return kernel->chains == 1;
}

/* Adds "random", the best number of chains, or "chase", a single one, whose time is the latency. */
static struct rf_error *plan_row(struct roofs_run *run, const struct roof_site *site,
				 const struct level_size *level, bool chase)
{
	struct roof_job job;
	struct random_job *context;
	size_t states = n_random_kernels * site->n_threads * sizeof(struct random_state);
	struct rf_error *error =
		roofs_new_job(site, n_random_kernels, sizeof(*context) + states, &job);
	if (error)
		return error;
	context = job.context;
	context->bytes = level->bytes;
	job.n_tasks = 0;
	for (size_t i = 0; i < n_random_kernels; i++) {
		const struct random_kernel *kernel = &random_kernels[i];
		if ((chase && !is_chase(kernel)) || kernel->chains * LINE_BYTES > level->bytes)
			continue;
		struct random_task *task = &context->tasks[job.n_tasks];
		*task = (struct random_task){kernel,
					     context->states + job.n_tasks * site->n_threads};
		job.tasks[job.n_tasks++] =
			(struct measure_task){.run = run_kernel,
					      .context = task,
					      .work = (double)kernel->chains * LINE_BYTES,
					      .isa = ROOF_ISA_SCALAR};
	}
	job.prepare = prepare;
	job.repeat_ns = 2 * run->wish->effort.repeat_ns;
	job.row.kind = ROOF_BANDWIDTH;
	job.row.op = chase ? ROOF_OP_CHASE : ROOF_OP_RANDOM;
	job.row.level = level->level;
	snprintf(job.row.unit, sizeof(job.row.unit), "GB/s");
	snprintf(job.row.bytes_convention, sizeof(job.row.bytes_convention),
		 chase ? "64 B/line in random order, one dependent chain a thread"
		       : "64 B/line in random order, the best number of chains");
	return roofs_add_job(run, &job);
}

struct rf_error *roofs_plan_random(struct roofs_run *run, const struct roof_site *site)
{
	struct level_size levels[SITE_LEVELS];
	size_t n = roofs_levels(run, site, levels);
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++) {
		error = plan_row(run, site, &levels[i], false);
		if (!error)
			error = plan_row(run, site, &levels[i], true);
	}
	return error;
}
