/* Rows of compute: one for each precision, width and operation that this CPU has. */
#include "machine/roofs/roofs_compute.h"

#include "machine/kernels/compute_kernels.h"
#include "machine/topology/cpu_features.h"

#include <stdlib.h>

#define MAX_VARIANTS 16 /* kernels of one row */

/* One kernel, as a task. */
struct compute_task {
	const struct compute_kernel *kernel;
	struct compute_state initial;
	struct compute_state *states; /* what each thread leaves */
};

/* The context of a job: its tasks' contexts, then a state for each thread. */
struct compute_job {
	struct compute_task tasks[MAX_VARIANTS];
	struct compute_state states[];
};

static void run_kernel(void *context, int thread, uint64_t count)
{
	struct compute_task *task = context;
	task->states[thread] = task->initial;
	compute_kernel_run(task->kernel, count, &task->states[thread]);
}

static struct rf_error *check_states(const struct roof_job *job)
{
	const struct compute_task *task = job->tasks[job->series.best].context;
	for (int i = 0; i < job->site->n_threads; i++)
		if (!compute_state_valid(task->kernel, &task->states[i]))
			return rf_error_create(RF_EINTERNAL, NULL,
					       "the %s %s %s kernel computed a wrong value",
					       roof_isa_name(task->kernel->isa),
					       roof_precision_name(task->kernel->precision),
					       roof_op_name(task->kernel->op));
	return NULL;
}

static bool same_row(const struct compute_kernel *a, const struct compute_kernel *b)
{
	return a->isa == b->isa && a->precision == b->precision && a->op == b->op;
}

/* Kernels of the row of kernel `first` that this CPU can run, when that is the row's first one. */
static size_t runnable_variants(size_t first, const struct compute_kernel *variants[MAX_VARIANTS])
{
	size_t n = 0;
	for (size_t i = 0; i < first; i++)
		if (same_row(&compute_kernels[i], &compute_kernels[first]))
			return 0;
	for (size_t i = first; i < n_compute_kernels && n < MAX_VARIANTS; i++)
		if (same_row(&compute_kernels[i], &compute_kernels[first]) &&
		    cpu_has(compute_kernels[i].needs))
			variants[n++] = &compute_kernels[i];
	return n;
}

static struct rf_error *plan_row(struct roofs_run *run, const struct roof_site *site,
				 const struct compute_kernel **variants, size_t n)
{
	struct roof_job job;
	struct compute_job *context;
	size_t states = site->n_threads * sizeof(struct compute_state);
	struct rf_error *error = roofs_new_job(site, n, sizeof(*context) + states, &job);
	if (error)
		return error;
	context = job.context;
	for (size_t i = 0; i < n; i++) {
		struct compute_task *task = &context->tasks[i];
		*task = (struct compute_task){.kernel = variants[i], .states = context->states};
		compute_state_init(variants[i], &task->initial);
		job.tasks[i] = (struct measure_task){.run = run_kernel,
						     .context = task,
						     .work = variants[i]->ops_per_iteration,
						     .with_clock = true,
						     .isa = variants[i]->isa};
	}
	job.check = check_states;
	job.row.kind = ROOF_COMPUTE;
	job.row.isa = variants[0]->isa;
	job.row.precision = variants[0]->precision;
	job.row.op = variants[0]->op;
	snprintf(job.row.unit, sizeof(job.row.unit), "%s", variants[0]->unit);
	if (run->microarchitecture)
		job.per_cycle = theory_compute(run->microarchitecture, job.row.isa,
					       job.row.precision, job.row.op);
	return roofs_add_job(run, &job);
}

struct rf_error *roofs_plan_compute(struct roofs_run *run, const struct roof_site *site)
{
	struct rf_error *error = NULL;
	for (size_t first = 0; first < n_compute_kernels && !error; first++) {
		const struct compute_kernel *variants[MAX_VARIANTS];
		if (run->wish->quick && !compute_kernels[first].quick)
			continue;
		size_t n = runnable_variants(first, variants);
		if (n > 0)
			error = plan_row(run, site, variants, n);
	}
	return error;
}
