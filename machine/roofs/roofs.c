#include "machine/roofs/roofs.h"

#include "base/array.h"
#include "base/clock.h"
#include "machine/roofs/clock.h"
#include "machine/topology/dmi.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A level nearer than this to the next one cannot be told from it. */
#define LEVEL_RATIO 1.15
#define NOISY 0.05
/* Rows whose work the threads do not share must grow with their number; one that gained less than
 * this part of it was measured while the threads had less than a core each. */
#define LEAST_SCALING 0.7
/* Of the time, for all rows but random access. */
#define LASTING_SHARE 0.85

const struct roofs_effort roofs_effort_full = {
	.repeat_ns = MEASURE_REPEAT_NS,
	.search_rounds = 4,
	.repeats = 12,
	.stretch = 4,
	.extra_rounds = 4,
	.budget_ns = UINT64_C(16000000000),
};
const struct roofs_effort roofs_effort_quick = {
	.repeat_ns = MEASURE_REPEAT_NS,
	.search_rounds = 2,
	.repeats = 6,
	.stretch = 2,
	.extra_rounds = 1,
	.budget_ns = UINT64_C(3300000000),
};

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
	if (!kept.repeat_ns)
		kept.repeat_ns = run->wish->effort.repeat_ns;
	if (rf_array_push(run->jobs, run->n_jobs, run->cap_jobs, kept))
		return NULL;
	free_job(&kept);
	return rf_error_no_memory();
}

static void progress(struct roofs_run *run, const char *what)
{
	run->step++;
	if (run->wish->progress)
		run->wish->progress(run->wish->progress_context, what, run->step, run->n_steps);
}

static void job_progress(struct roofs_run *run, const struct roof *row)
{
	char what[96];
	if (row->kind == ROOF_COMPUTE)
		snprintf(what, sizeof(what), "%s %s %s, %d thread%s", roof_isa_name(row->isa),
			 roof_precision_name(row->precision), roof_op_name(row->op), row->threads,
			 row->threads == 1 ? "" : "s");
	else
		snprintf(what, sizeof(what), "%s %s, %d thread%s", roof_level_name(row->level),
			 roof_op_name(row->op), row->threads, row->threads == 1 ? "" : "s");
	progress(run, what);
}

/* ---- levels that cannot be told apart ---- */

/* The row of the same operation and thread count in the nearest level below, or NULL. */
static const struct roof *next_level(const struct roof *roofs, size_t n_roofs,
				     const struct roof *roof)
{
	const struct roof *next = NULL;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *other = &roofs[i];
		if (other->kind != ROOF_BANDWIDTH || other->by_node ||
		    other->threads != roof->threads || other->op != roof->op ||
		    other->level <= roof->level)
			continue;
		if (!next || other->level < next->level)
			next = other;
	}
	return next;
}

void roofs_mark_levels(struct roof *roofs, size_t n_roofs)
{
	for (size_t i = 0; i < n_roofs; i++) {
		if (roofs[i].kind != ROOF_BANDWIDTH || roofs[i].by_node)
			continue;
		const struct roof *next = next_level(roofs, n_roofs, &roofs[i]);
		roofs[i].distinguishable = !next || roofs[i].best >= LEVEL_RATIO * next->best;
	}
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

static struct rf_error *visit(struct roofs_run *run, struct roof_job *job)
{
	int rounds, repeats;
	struct measure_series *series = &job->series;
	struct rf_error *error = job->prepare ? job->prepare(run, job) : NULL;
	pace(run, &rounds, &repeats);
	if (!error && series->n_rates == 0) {
		error = measure_search(job->site->team, job->tasks, job->n_tasks, job->repeat_ns,
				       rounds, series);
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

static double best_rate(const struct roof_job *job)
{
	return measure_summary(job->series.rates, job->series.n_rates).best;
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
		if (best_rate(job) < gain * best_rate(other))
			return true;
	}
	return false;
}

static struct rf_error *visit_all(struct roofs_run *run, struct roof_job *jobs, size_t n,
				  double share)
{
	struct rf_error *error = NULL;
	for (int round = 0; round < 2 && !error; round++)
		for (size_t i = 0; i < n && !error; i++) {
			job_progress(run, &jobs[i].row);
			if (round == 0 || elapsed_ns(run) < share * budget_ns(run))
				error = visit(run, &jobs[i]);
		}
	return error;
}

/* More visits to the rows that are noisy or implausible, while there is time. */
static struct rf_error *visit_doubtful(struct roofs_run *run, struct roof_job *jobs, size_t n,
				       double share)
{
	struct rf_error *error = NULL;
	for (int round = 0; round < run->wish->effort.extra_rounds && !error; round++)
		for (size_t i = 0; i < n && !error; i++)
			if (elapsed_ns(run) < share * budget_ns(run) &&
			    (is_noisy(&jobs[i]) || lacks_scaling(run, &jobs[i])))
				error = visit(run, &jobs[i]);
	return error;
}

/* `n` jobs, until `share` of the time is over. */
static struct rf_error *measure_jobs(struct roofs_run *run, struct roof_job *jobs, size_t n,
				     double share)
{
	struct rf_error *error = visit_all(run, jobs, n, share);
	return error ? error : visit_doubtful(run, jobs, n, share);
}

/* ---- the whole ---- */

static struct rf_error *limits_notes(struct roofs_run *run)
{
	const struct topology *topology = run->topology;
	struct rf_error *error = NULL;
	if (topology->usable_threads < topology->n_cpus)
		error = roofs_note(run,
				   "the CPU quota of the control group is %.2f CPUs: roofs up "
				   "to %d of %d hardware threads",
				   topology->limits.cpus, topology->usable_threads,
				   topology->n_cpus);
	else if (topology->limits.cpus > 0 && topology->limits.cpus < topology->n_cpus)
		error = roofs_note(run,
				   "the CPU quota of the control group is %.2f CPUs: longer "
				   "runs are throttled below these roofs",
				   topology->limits.cpus);
	for (int level = 1; level <= TOPOLOGY_LEVELS && !error; level++)
		if (!topology_share_bytes(topology, level, 1))
			error = roofs_note(run,
					   "no L%d cache is reported: its bandwidth is not "
					   "measured",
					   level);
	return error;
}

/* What the firmware's tables say of the memory modules; often there are none to be read. */
static struct rf_error *read_memory_theory(struct roofs_run *run)
{
	struct dmi_memory memory;
	struct rf_error *unknown = dmi_memory_read(NULL, &memory);
	if (unknown) {
		rf_error_destroy(unknown);
		return NULL;
	}
	run->memory_gbs = memory.gbs;
	if (!memory.upper_bound)
		return NULL;
	return roofs_note(
		run,
		"the theory of DRAM is an upper bound: %d memory modules whose channels or "
		"speed are not told",
		memory.devices);
}

/* Why theory is missing or incomplete. */
static struct rf_error *theory_notes(struct roofs_run *run)
{
	struct rf_error *error = read_memory_theory(run);
	if (!error && !run->microarchitecture)
		error = roofs_note(
			run, "this microarchitecture is not in the table: no theory of compute");
	else if (!error && run->microarchitecture->note)
		error = roofs_note(run, "theory: %s", run->microarchitecture->note);
	return error;
}

/* Keeps the higher of several measurements, by the smallest team. */
static struct rf_error *measure_clock(struct roofs_run *run, struct machine *machine)
{
	struct machine_clock clock;
	progress(run, "clock");
	struct rf_error *error = clock_measure(run->sites[0].team, &clock);
	if (error)
		return error;
	if (clock.ghz > machine->clock_ghz)
		machine->clock_ghz = clock.ghz;
	if (clock.fp_ghz > machine->clock_fp_ghz)
		machine->clock_fp_ghz = clock.fp_ghz;
	return NULL;
}

/* Random access last: its links overwrite the numbers that the other kernels work on. */
static struct rf_error *plan(struct roofs_run *run)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < run->n_sites && !error; i++) {
		if (!run->sites[i].by_node)
			error = roofs_plan_compute(run, &run->sites[i]);
		if (!error)
			error = roofs_plan_bandwidth(run, &run->sites[i]);
	}
	run->n_lasting = run->n_jobs;
	for (size_t i = 0; i < run->n_sites && !error && !run->wish->quick; i++)
		error = roofs_plan_random(run, &run->sites[i]);
	run->n_steps = 2 + 2 * (int)run->n_jobs;
	return error;
}

static struct rf_error *measure_all(struct roofs_run *run, struct machine *machine)
{
	struct rf_error *error = limits_notes(run);
	if (!error)
		error = theory_notes(run);
	if (!error)
		error = roofs_make_sites(run);
	if (!error)
		error = plan(run);
	if (!error)
		error = measure_clock(run, machine);
	bool some_last = run->n_lasting < run->n_jobs;
	if (!error)
		error = measure_jobs(run, run->jobs, run->n_lasting, some_last ? LASTING_SHARE : 1);
	if (!error && some_last)
		error = measure_jobs(run, run->jobs + run->n_lasting, run->n_jobs - run->n_lasting,
				     1);
	/* Again, now that the cores have been busy for long enough to have reached their clock. */
	return error ? error : measure_clock(run, machine);
}

/* The row of a job with its rates. */
static struct roof finished_row(const struct roof_job *job)
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
	return row;
}

/* Hands rows, counts and notes over to the machine. */
static struct rf_error *finish(struct roofs_run *run, struct machine *machine)
{
	machine->roofs = calloc(run->n_jobs, sizeof(*machine->roofs));
	machine->counts = calloc(run->n_sites, sizeof(*machine->counts));
	const char *name = run->microarchitecture ? run->microarchitecture->name : NULL;
	machine->microarchitecture = name ? strdup(name) : NULL;
	if (!machine->roofs || !machine->counts || (name && !machine->microarchitecture))
		return rf_error_no_memory();
	for (size_t i = 0; i < run->n_jobs; i++)
		machine->roofs[machine->n_roofs++] = finished_row(&run->jobs[i]);
	roofs_mark_levels(machine->roofs, machine->n_roofs);
	for (size_t i = 0; i < run->n_sites; i++)
		if (!run->sites[i].by_node)
			machine->counts[machine->n_counts++] =
				(struct machine_count){run->sites[i].n_threads, !run->wish->quick};
	machine->notes = run->notes;
	machine->n_notes = run->n_notes;
	run->notes = NULL;
	run->n_notes = 0;
	return NULL;
}

static void run_deinit(struct roofs_run *run)
{
	for (size_t i = 0; i < run->n_jobs; i++)
		free_job(&run->jobs[i]);
	free(run->jobs);
	for (size_t i = 0; i < run->n_notes; i++)
		free(run->notes[i]);
	free(run->notes);
	roofs_free_sites(run);
}

struct rf_error *roofs_measure(const struct topology *topology, const struct roofs_wish *wish,
			       struct machine *machine)
{
	struct roofs_run run = {
		.topology = topology,
		.wish = wish,
		.started_ns = clock_now_ns(),
		.microarchitecture = microarchitecture_here(),
	};
	struct rf_error *error = measure_all(&run, machine);
	if (!error)
		error = finish(&run, machine);
	run_deinit(&run);
	return error;
}
