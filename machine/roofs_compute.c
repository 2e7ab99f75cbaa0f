#include "machine/compute_kernels.h"
#include "machine/cpu_features.h"
#include "machine/roofs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VARIANTS 16 /* kernels of one row of the roof table */

/* A kernel on all threads of a team. */
struct compute_run {
	const struct compute_kernel *kernel;
	const struct compute_state *initial;
	struct compute_state *states;	/* what each thread leaves */
};

static void run_kernel(void *context, int thread, uint64_t count)
{
	struct compute_run *run = context;
	run->states[thread] = *run->initial;
	compute_kernel_run(run->kernel, count, &run->states[thread]);
}

static bool same_row(const struct compute_kernel *a, const struct compute_kernel *b)
{
	return !strcmp(a->isa, b->isa) && !strcmp(a->precision, b->precision) &&
	       !strcmp(a->op, b->op);
}

/* Number of kernels from `first` on that are for the same row. */
static size_t variants(size_t first)
{
	size_t n = 1;
	while (first + n < n_compute_kernels && n < MAX_VARIANTS &&
	       same_row(&compute_kernels[first], &compute_kernels[first + n]))
		n++;
	return n;
}

/* Picks those of the `n` kernels from `first` on that this CPU has. */
static size_t usable(size_t first, size_t n, const struct compute_kernel *kernels[MAX_VARIANTS])
{
	size_t n_usable = 0;
	for (size_t i = first; i < first + n; i++)
		if (cpu_has(compute_kernels[i].needs))
			kernels[n_usable++] = &compute_kernels[i];
	return n_usable;
}

int roofs_compute_steps(void)
{
	const struct compute_kernel *kernels[MAX_VARIANTS];
	int steps = 0;
	for (size_t first = 0, n; first < n_compute_kernels; first += n) {
		n = variants(first);
		steps += usable(first, n, kernels) > 0;
	}
	return steps;
}

static struct rf_error *check_states(const struct compute_run *run, int n_threads)
{
	for (int i = 0; i < n_threads; i++)
		if (!compute_state_valid(run->kernel, &run->states[i]))
			return rf_error_create(RF_EINTERNAL, NULL,
					       "the %s %s %s kernel computed wrong values",
					       run->kernel->isa, run->kernel->precision,
					       run->kernel->op);
	return NULL;
}

static struct rf_error *add_row(struct roofs_run *run, const struct compute_kernel *kernel,
				int n_threads, const struct measure_rate *rate)
{
	struct roof roof = {
		.kind = ROOF_COMPUTE, .threads = n_threads, .best = rate->best,
		.median = rate->median, .q1 = rate->q1, .q3 = rate->q3,
		.distinguishable = true,
	};
	snprintf(roof.unit, sizeof(roof.unit), "%s", kernel->unit);
	snprintf(roof.isa, sizeof(roof.isa), "%s", kernel->isa);
	snprintf(roof.precision, sizeof(roof.precision), "%s", kernel->precision);
	snprintf(roof.op, sizeof(roof.op), "%s", kernel->op);
	return roofs_add(run, &roof);
}

/* Measures the `n` kernels and adds a row for the fastest. */
static struct rf_error *measure_row(struct roofs_run *run, struct team *team,
				    struct compute_state *states,
				    const struct compute_kernel *const *kernels, size_t n)
{
	int n_threads = team_size(team);
	struct compute_state initial[MAX_VARIANTS];
	struct compute_run runs[MAX_VARIANTS];
	struct measure_task tasks[MAX_VARIANTS];
	for (size_t i = 0; i < n; i++) {
		compute_state_init(kernels[i], &initial[i]);
		runs[i] = (struct compute_run){ kernels[i], &initial[i], states };
		tasks[i] = (struct measure_task){ run_kernel, &runs[i], kernels[i]->ops_per_iteration };
	}
	struct measure_effort effort = roofs_effort(run);
	struct measure_rate rate;
	size_t best;
	struct rf_error *error = measure_fastest(team, tasks, n, &effort, &rate, &best);
	if (!error)
		error = check_states(&runs[best], n_threads);
	return error ? error : add_row(run, runs[best].kernel, n_threads, &rate);
}

struct rf_error *roofs_compute(struct roofs_run *run, struct team *team)
{
	int n_threads = team_size(team);
	struct compute_state *states =
		aligned_alloc(_Alignof(struct compute_state), n_threads * sizeof(*states));
	if (!states)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	struct rf_error *error = NULL;
	for (size_t first = 0, n; first < n_compute_kernels && !error; first += n) {
		const struct compute_kernel *row = &compute_kernels[first], *kernels[MAX_VARIANTS];
		n = variants(first);
		size_t n_usable = usable(first, n, kernels);
		if (!n_usable)
			continue;
		roofs_progress(run, "%s %s %s, %d thread%s", row->isa, row->precision, row->op,
			       n_threads, n_threads == 1 ? "" : "s");
		error = measure_row(run, team, states, kernels, n_usable);
	}
	free(states);
	return error;
}
