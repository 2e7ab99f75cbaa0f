/* A measurement of the machine from its limits to its table: what is planned, measured, noted and
 * handed over. */
#include "machine/roofs/roofs.h"

#include "base/clock.h"
#include "machine/roofs/roofs_bandwidth.h"
#include "machine/roofs/roofs_compute.h"
#include "machine/roofs/roofs_run.h"
#include "machine/roofs/roofs_sites.h"
#include "machine/topology/dmi.h"

#include <stdlib.h>
#include <string.h>

/* A level nearer than this to the next one cannot be told from it. */
#define LEVEL_RATIO 1.15
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

/* By the smallest team. */
static struct rf_error *measure_clock(struct roofs_run *run, struct machine *machine)
{
	roofs_progress(run, "clock");
	return measure_clocks(run->sites[0].team, &machine->clock_ghz, &machine->clock_fp_ghz);
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
		error = roofs_measure_jobs(run, run->jobs, run->n_lasting,
					   some_last ? LASTING_SHARE : 1);
	if (!error && some_last)
		error = roofs_measure_jobs(run, run->jobs + run->n_lasting,
					   run->n_jobs - run->n_lasting, 1);
	/* Again, now that the cores have been busy for long enough to have reached their clock. */
	return error ? error : measure_clock(run, machine);
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
		machine->roofs[machine->n_roofs++] = roofs_finished_row(&run->jobs[i]);
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
	roofs_free_jobs(run);
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
