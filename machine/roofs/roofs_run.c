/* Jobs of a session, and how their repeats are spread over its time by several visits to each. */
#include "machine/roofs/roofs_run.h"

#include "base/array.h"
#include "base/clock.h"
#include "machine/data/roof_history.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Quartiles so far apart, in parts of the median. */
#define NOISY 0.05
/* Rows whose work the threads do not share must grow with their number; one that gained less than
 * this part of it was measured while the threads had less than a core each. */
#define LEAST_SCALING 0.7

/* ---- what a run collects ---- */

struct rf_error *roofs_note(struct roofs_run *run, const char *format, ...)
{
	va_list args;
	char *note;
	va_start(args, format);
	int length = vasprintf(&note, format, args);
	va_end(args);
	if (length < 0)
		return rf_error_no_memory();
	for (size_t i = 0; i < run->n_notes; i++)
		if (!strcmp(run->notes[i], note)) {
			free(note);
			return NULL;
		}
	if (rf_array_push(run->notes, run->n_notes, run->cap_notes, note))
		return NULL;
	free(note);
	return rf_error_no_memory();
}

static void free_job(struct roof_job *job)
{
	measure_series_deinit(&job->series);
	free(job->tasks);
	free(job->context);
}

struct rf_error *roofs_new_job(const struct roof_site *site, size_t n_tasks, size_t context_size,
			       struct roof_job *job)
{
	*job = (struct roof_job){
		.row = {.threads = site->n_threads,
			.by_node = site->by_node,
			.cpu_node = site->cpu_node,
			.memory_node = site->memory_node,
			.distinguishable = true},
		.site = site,
		.n_tasks = n_tasks,
		.tasks = calloc(n_tasks, sizeof(*job->tasks)),
		.context = aligned_alloc(64, (context_size + 63) / 64 * 64),
	};
	if (job->tasks && job->context) {
		memset(job->context, 0, context_size);
		return NULL;
	}
	free_job(job);
	return rf_error_no_memory();
}

struct rf_error *roofs_add_job(struct roofs_run *run, const struct roof_job *job)
{
	struct roof_job kept = *job;
	const struct roofs_wish *wish = run->wish;
	if (wish->wants && (kept.size_bytes || !wish->wants(wish->wants_context, &kept.row))) {
		free_job(&kept);
		return NULL;
	}
	if (!kept.repeat_ns)
		kept.repeat_ns = run->wish->effort.repeat_ns;
	if (rf_array_push(run->jobs, run->n_jobs, run->cap_jobs, kept))
		return NULL;
	free_job(&kept);
	return rf_error_no_memory();
}

void roofs_progress(struct roofs_run *run, const char *what)
{
	run->step++;
	if (run->wish->progress)
		run->wish->progress(run->wish->progress_context, what, run->step, run->n_steps);
}

static void job_progress(struct roofs_run *run, const struct roof_job *job)
{
	const struct roof *row = &job->row;
	char what[96];
	if (job->size_bytes)
		snprintf(what, sizeof(what), "%s of %zu KiB", roof_op_name(row->op),
			 job->size_bytes >> 10);
	else if (row->kind == ROOF_COMPUTE)
		snprintf(what, sizeof(what), "%s %s %s, %d thread%s", roof_isa_name(row->isa),
			 roof_precision_name(row->precision), roof_op_name(row->op), row->threads,
			 row->threads == 1 ? "" : "s");
	else
		snprintf(what, sizeof(what), "%s %s%s, %d thread%s", roof_level_name(row->level),
			 roof_op_name(row->op),
			 row->kind == ROOF_ZEROS    ? " of zeros"
			 : row->kind == ROOF_NARROW ? " by 8 bytes"
						    : "",
			 row->threads, row->threads == 1 ? "" : "s");
	roofs_progress(run, what);
}

/* ---- visits ---- */

static uint64_t elapsed_ns(const struct roofs_run *run)
{
	return clock_now_ns() - run->started_ns;
}

static uint64_t budget_ns(const struct roofs_run *run)
{
	size_t n = run->wish->n_counts;
	return run->wish->effort.budget_ns * (n > 2 ? n : 2) / 2;
}

/* Less for the next visit where time runs out: a busy machine, on which each repeat may have to
 * wait for its turn. */
static void pace(const struct roofs_run *run, int *rounds, int *repeats)
{
	uint64_t elapsed = elapsed_ns(run), budget = budget_ns(run);
	*rounds = run->wish->effort.search_rounds;
	*repeats = run->wish->effort.repeats;
	if (elapsed > budget * 7 / 10) {
		*rounds = (*rounds + 1) / 2;
		*repeats = (*repeats + 1) / 2;
	}
	if (elapsed > budget) {
		*rounds = 1;
		*repeats = (*repeats + 1) / 2;
	}
}

struct rf_error *roofs_visit(struct roofs_run *run, struct roof_job *job)
{
	int rounds, repeats;
	struct measure_series *series = &job->series;
	struct rf_error *error = NULL;
	if (job->prepare)
		team_run(job->site->team, job->prepare, job);
	pace(run, &rounds, &repeats);
	if (series->n_rates == 0) {
		error = measure_search(job->site->team, job->tasks, job->n_tasks, job->repeat_ns,
				       rounds, series);
		/* What takes longer than a repeat by itself is long enough. */
		if (series->count > 1)
			series->count *= run->wish->effort.stretch;
	}
	if (!error)
		error = measure_repeats(job->site->team, &job->tasks[series->best], repeats,
					series);
	if (!error && job->check)
		error = job->check(job);
	return error;
}

static bool is_noisy(const struct roof_job *job)
{
	struct measure_rate rate = measure_summary(job->series.rates, job->series.n_rates);
	return rate.q3 - rate.q1 >= NOISY * rate.median;
}

/* True when the row did not gain from its threads as it must: see LEAST_SCALING.  What is shared
 * between cores (L3, DRAM) must not lose. */
static bool lacks_scaling(const struct roofs_run *run, const struct roof_job *job)
{
	bool is_private = job->row.kind == ROOF_COMPUTE || job->row.level == ROOF_LEVEL_L1;
	for (size_t i = 0; i < run->n_jobs && !job->row.by_node; i++) {
		const struct roof_job *other = &run->jobs[i];
		if (other->row.by_node || !roof_is_same(&other->row, &job->row) ||
		    other->site->n_threads >= job->site->n_threads)
			continue;
		double gain =
			is_private ? LEAST_SCALING * job->site->n_cores / other->site->n_cores : 1;
		if (job->series.highest < gain * other->series.highest)
			return true;
	}
	return false;
}

struct rf_error *roofs_measure_jobs(struct roofs_run *run, struct roof_job *jobs, size_t n,
				    double share)
{
	double end_ns = share * budget_ns(run);
	struct rf_error *error = NULL;
	for (int round = 0; round < 2 && !error; round++)
		for (size_t i = 0; i < n && !error; i++) {
			job_progress(run, &jobs[i]);
			if (round == 0 || elapsed_ns(run) < end_ns)
				error = roofs_visit(run, &jobs[i]);
		}
	/* More visits to the rows that are noisy or implausible, while there is time. */
	for (int round = 0; round < run->wish->effort.extra_rounds && !error; round++)
		for (size_t i = 0; i < n && !error; i++)
			if (elapsed_ns(run) < end_ns &&
			    (is_noisy(&jobs[i]) || lacks_scaling(run, &jobs[i])))
				error = roofs_visit(run, &jobs[i]);
	return error;
}

struct roof roofs_finished_row(const struct roof_job *job)
{
	struct roof row = job->row;
	struct measure_rate rate = measure_summary(job->series.rates, job->series.n_rates);
	row.best = rate.best;
	row.median = rate.median;
	row.q1 = rate.q1;
	row.q3 = rate.q3;
	row.noisy = is_noisy(job);
	row.theory = job->theory;
	if (job->per_cycle > 0 && job->series.clock_ghz > 0)
		row.theory = job->per_cycle * job->site->n_cores * job->series.clock_ghz;
	row.isa = job->tasks[job->series.best].isa; /* of bandwidth: the kernel that won */
	roof_history_add(&row, time(NULL), row.best);
	return row;
}

void roofs_free_jobs(struct roofs_run *run)
{
	for (size_t i = 0; i < run->n_jobs; i++)
		free_job(&run->jobs[i]);
	free(run->jobs);
}
