#include "machine/compute_kernels.h"
#include "machine/cpu_features.h"
#include "machine/roofs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_VARIANTS 8 /* accumulator counts of one row of the roof table */

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
	run->kernel->run(count, &run->states[thread]);
}

static bool same_row(const struct compute_kernel *a, const struct compute_kernel *b)
{
	return !strcmp(a->isa, b->isa) && !strcmp(a->precision, b->precision) &&
	       !strcmp(a->op, b->op);
}

/* Number of kernels from `first` on that differ in nothing but their accumulators. */
static size_t variants(size_t first)
{
	size_t n = 1;
	while (first + n < n_compute_kernels && n < MAX_VARIANTS &&
	       same_row(&compute_kernels[first], &compute_kernels[first + n]))
		n++;
	return n;
}

int roofs_compute_steps(void)
{
	int steps = 0;
	for (size_t first = 0; first < n_compute_kernels; first += variants(first))
		steps += cpu_has(compute_kernels[first].needs);
	return steps;
}

static struct rf_error *check_states(const struct compute_run *run, int n_threads)
{
	for (int i = 0; i < n_threads; i++)
		if (!compute_state_normal(run->kernel, &run->states[i]))
			return rf_error_create(RF_EINTERNAL, NULL,
					       "the %s %s %s kernel left its range of values",
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
		.unit = "GFLOP/s", .distinguishable = true,
	};
	snprintf(roof.isa, sizeof(roof.isa), "%s", kernel->isa);
	snprintf(roof.precision, sizeof(roof.precision), "%s", kernel->precision);
	snprintf(roof.op, sizeof(roof.op), "%s", kernel->op);
	return roofs_add(run, &roof);
}

/* Measures the `n` kernels from `first` on and adds a row for the fastest. */
static struct rf_error *measure_row(struct roofs_run *run, struct team *team,
				    struct compute_state *states, size_t first, size_t n)
{
	int n_threads = team_size(team);
	struct compute_state initial[MAX_VARIANTS];
	struct compute_run runs[MAX_VARIANTS];
	struct measure_task tasks[MAX_VARIANTS];
	for (size_t i = 0; i < n; i++) {
		const struct compute_kernel *kernel = &compute_kernels[first + i];
		compute_state_init(kernel, &initial[i]);
		runs[i] = (struct compute_run){ kernel, &initial[i], states };
		tasks[i] = (struct measure_task){ run_kernel, &runs[i], kernel->flop_per_iteration };
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
		const struct compute_kernel *kernel = &compute_kernels[first];
		n = variants(first);
		if (!cpu_has(kernel->needs))
			continue;
		roofs_progress(run, "%s %s %s, %d thread%s", kernel->isa, kernel->precision,
			       kernel->op, n_threads, n_threads == 1 ? "" : "s");
		error = measure_row(run, team, states, first, n);
	}
	free(states);
	return error;
}
