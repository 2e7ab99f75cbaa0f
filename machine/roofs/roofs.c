/* A measurement of the machine from its limits to its table: what is planned, measured, noted and
 * handed over. */
#include "machine/roofs/roofs.h"

#include "base/clock.h"
#include "base/small_file.h"
#include "machine/roofs/line_transfers.h"
#include "machine/roofs/page_costs.h"
#include "machine/roofs/roofs_bandwidth.h"
#include "machine/roofs/roofs_compute.h"
#include "machine/roofs/roofs_run.h"
#include "machine/roofs/roofs_sites.h"
#include "machine/topology/dmi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A level nearer than this to the next one cannot be told from it. */
#define LEVEL_RATIO 1.15

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
		if (other->kind != roof->kind || other->by_node ||
		    other->threads != roof->threads || other->op != roof->op ||
		    other->level <= roof->level)
			continue;
		if (!next || other->level < next->level)
			next = other;
	}
	return next;
}

/* The row of other data that a row of zeros stands beside, or NULL. */
static const struct roof *with_numbers(const struct roof *roofs, size_t n_roofs,
				       const struct roof *zeros)
{
	for (size_t i = 0; i < n_roofs; i++)
		if (roofs[i].kind == ROOF_BANDWIDTH && !roofs[i].by_node &&
		    roofs[i].threads == zeros->threads && roofs[i].op == zeros->op &&
		    roofs[i].level == zeros->level)
			return &roofs[i];
	return NULL;
}

void roofs_mark_levels(struct roof *roofs, size_t n_roofs)
{
	for (size_t i = 0; i < n_roofs; i++) {
		if (roofs[i].kind == ROOF_COMPUTE || roofs[i].by_node)
			continue;
		const struct roof *below = roofs[i].kind == ROOF_ZEROS
						   ? with_numbers(roofs, n_roofs, &roofs[i])
						   : next_level(roofs, n_roofs, &roofs[i]);
		roofs[i].distinguishable = !below || roofs[i].best >= LEVEL_RATIO * below->best;
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
	const struct microarchitecture *told = microarchitecture_told();
	struct rf_error *error = read_memory_theory(run);
	if (!error && told != run->microarchitecture && told && !told->hybrid)
		error = roofs_note(run,
				   "the processor has the number of %s, but units that this does "
				   "not have: taken for %s",
				   told->name,
				   run->microarchitecture ? run->microarchitecture->name
							  : "an unknown one");
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

static struct rf_error *plan_numbers(struct roofs_run *run, const struct roof_site *site)
{
	struct rf_error *error = site->by_node ? NULL : roofs_plan_compute(run, site);
	return error ? error : roofs_plan_bandwidth(run, site);
}

/* `until`: the part of the time that is over when the phase ends. */
static const struct {
	struct rf_error *(*plan)(struct roofs_run *run, const struct roof_site *site);
	double until, quick_until; /* 0: the phase is left out */
} phases[ROOF_PHASES] = {
	[PHASE_NUMBERS] = {plan_numbers, 0.65, 0.8},
	[PHASE_ZEROS] = {roofs_plan_zeros, 0.75, 0.9},
	[PHASE_RANDOM] = {roofs_plan_random, 0.85, 1},
	[PHASE_SIZES] = {roofs_plan_sizes, 1, 0},
};

static double phase_until(const struct roofs_run *run, int phase)
{
	return run->wish->quick ? phases[phase].quick_until : phases[phase].until;
}

struct rf_error *roofs_plan(struct roofs_run *run)
{
	struct rf_error *error = NULL;
	for (int phase = 0; phase < ROOF_PHASES; phase++) {
		for (size_t i = 0; i < run->n_sites && !error; i++)
			if (phase_until(run, phase) > 0)
				error = phases[phase].plan(run, &run->sites[i]);
		run->phase_ends[phase] = run->n_jobs;
	}
	run->n_steps = 2 + 2 * (int)run->n_jobs;
	return error;
}

static struct rf_error *measure_phases(struct roofs_run *run)
{
	struct rf_error *error = NULL;
	size_t from = 0;
	for (int phase = 0; phase < ROOF_PHASES && !error; phase++) {
		error = roofs_measure_jobs(run, run->jobs + from, run->phase_ends[phase] - from,
					   phase_until(run, phase));
		from = run->phase_ends[phase];
	}
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
		error = roofs_plan(run);
	if (!error)
		error = measure_clock(run, machine);
	if (!error && !run->wish->wants)
		error = line_transfers_measure(run->topology, machine);
	if (!error)
		error = measure_phases(run);
	if (!error && !run->wish->wants && !run->sites[0].by_node)
		page_costs_measure(run, &run->sites[0], &machine->pages);
	/* Again, now that the cores have been busy for long enough to have reached their clock. */
	return error ? error : measure_clock(run, machine);
}

/* Whether (nearly) all memory of the first arena is in huge pages: what the system says of the
 * whole process, whose other huge pages are few. */
static bool has_huge_pages(const struct roofs_run *run)
{
	char text[64];
	return small_file_field("", "/proc/self/smaps_rollup", "AnonHugePages", text,
				sizeof(text)) &&
	       strtoull(text, NULL, 10) * 1024 >= 0.9 * (double)run->arenas[0].bytes;
}

void roofs_raise_chase(struct roof *row, const struct roof *walk)
{
	if (row->op != ROOF_OP_CHASE || row->threads != 1 || row->by_node ||
	    !(walk->best > row->best))
		return;
	row->best = walk->best;
	row->median = walk->median;
	row->q1 = walk->q1;
	row->q3 = walk->q3;
	row->noisy = walk->noisy;
	if (row->n_history && walk->n_history) /* in its place */
		row->history[row->n_history - 1] = walk->history[walk->n_history - 1];
}

static void raise_chases(const struct roofs_run *run, struct machine *machine,
			 const struct roof *walk, size_t bytes)
{
	for (size_t i = 0; i < machine->n_roofs; i++)
		if (machine->roofs[i].op == ROOF_OP_CHASE &&
		    roofs_row_bytes(run->topology, &machine->roofs[i]) <= bytes)
			roofs_raise_chase(&machine->roofs[i], walk);
}

/* The walks by size: the chase and the read of a size are neighbours. */
static void take_sizes(const struct roofs_run *run, struct machine *machine)
{
	for (size_t i = run->phase_ends[PHASE_SIZES - 1]; i < run->n_jobs; i += 2) {
		const struct roof_job *chase = &run->jobs[i], *read = &run->jobs[i + 1];
		const struct roof walk = roofs_finished_row(chase),
				  stream = roofs_finished_row(read);
		assert(chase->size_bytes == read->size_bytes);
		machine->sizes[machine->n_sizes++] =
			(struct size_point){.bytes = chase->size_bytes,
					    .latency_ns = ROOFS_LINE_BYTES / walk.best,
					    .latency_median_ns = ROOFS_LINE_BYTES / walk.median,
					    .read_gbs = stream.best,
					    .read_median_gbs = stream.median};
		raise_chases(run, machine, &walk, chase->size_bytes);
	}
	machine->sizes_in_small_pages = machine->n_sizes && !has_huge_pages(run);
}

/* Hands rows, counts and notes over to the machine. */
static struct rf_error *finish(struct roofs_run *run, struct machine *machine)
{
	machine->roofs = calloc(run->n_jobs, sizeof(*machine->roofs));
	machine->counts = calloc(run->n_sites, sizeof(*machine->counts));
	machine->sizes = calloc(SITE_SIZES, sizeof(*machine->sizes));
	const char *name = run->microarchitecture ? run->microarchitecture->name : NULL;
	machine->microarchitecture = name ? strdup(name) : NULL;
	if (!machine->roofs || !machine->counts || !machine->sizes ||
	    (name && !machine->microarchitecture))
		return rf_error_no_memory();
	for (size_t i = 0; i < run->n_jobs; i++)
		if (!run->jobs[i].size_bytes)
			machine->roofs[machine->n_roofs++] = roofs_finished_row(&run->jobs[i]);
	take_sizes(run, machine);
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

void roofs_run_deinit(struct roofs_run *run)
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
	roofs_run_deinit(&run);
	return error;
}
