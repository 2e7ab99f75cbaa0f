#include "machine/roofs.h"

#include "base/array.h"
#include "machine/clock.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A level nearer than this to the next one cannot be told from it. */
#define LEVEL_RATIO 1.15

static struct rf_error *out_of_memory(void)
{
	return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
}

struct rf_error *roofs_add(struct roofs_run *run, const struct roof *roof)
{
	if (rf_array_push(run->roofs, run->n_roofs, run->cap_roofs, *roof))
		return NULL;
	return out_of_memory();
}

struct rf_error *roofs_note(struct roofs_run *run, const char *format, ...)
{
	va_list args;
	char *note;
	va_start(args, format);
	int length = vasprintf(&note, format, args);
	va_end(args);
	if (length < 0)
		return out_of_memory();
	for (size_t i = 0; i < run->n_notes; i++)
		if (!strcmp(run->notes[i], note)) {
			free(note);
			return NULL;
		}
	if (rf_array_push(run->notes, run->n_notes, run->cap_notes, note))
		return NULL;
	free(note);
	return out_of_memory();
}

void roofs_progress(struct roofs_run *run, const char *format, ...)
{
	run->step++;
	if (!run->options->progress)
		return;
	char what[80];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	run->options->progress(run->options->progress_context, what, run->step, run->n_steps);
}

struct measure_effort roofs_effort(const struct roofs_run *run)
{
	struct measure_effort effort = *run->effort;
	uint64_t elapsed = measure_now_ns() - run->started_ns;
	if (elapsed > effort.calm_ns)
		effort.max_batches = 1;
	if (elapsed > 2 * effort.calm_ns) { /* a busy machine: each repeat may wait for its turn */
		effort.search_repeats = (effort.search_repeats + 1) / 2;
		effort.repeats = (effort.repeats + 1) / 2;
	}
	return effort;
}

static int level_rank(const char *level)
{
	static const char *const levels[] = { "L1", "L2", "L3", "DRAM" };
	for (int i = 0; i < 4; i++)
		if (!strcmp(level, levels[i]))
			return i;
	return -1;
}

/* The row of the same operation and thread count in the nearest level below, or NULL. */
static const struct roof *next_level(const struct roof *roofs, size_t n_roofs,
				     const struct roof *roof)
{
	const struct roof *next = NULL;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *other = &roofs[i];
		if (other->kind != ROOF_BANDWIDTH || other->threads != roof->threads ||
		    strcmp(other->op, roof->op) || level_rank(other->level) <= level_rank(roof->level))
			continue;
		if (!next || level_rank(other->level) < level_rank(next->level))
			next = other;
	}
	return next;
}

void roofs_mark_levels(struct roof *roofs, size_t n_roofs)
{
	for (size_t i = 0; i < n_roofs; i++) {
		if (roofs[i].kind != ROOF_BANDWIDTH)
			continue;
		const struct roof *next = next_level(roofs, n_roofs, &roofs[i]);
		roofs[i].distinguishable = !next || roofs[i].best >= LEVEL_RATIO * next->best;
	}
}

/* The next thread count after `n`: 1, 2, 4, … and all. */
static int next_count(int n, int all)
{
	if (n >= all)
		return 0;
	return n * 2 < all ? n * 2 : all;
}

/* Compute scales with the threads but for the clock, so that 1 and all are enough; bandwidth
 * saturates, so that the counts between are wanted. */
static bool compute_at(int n_threads, int all)
{
	return n_threads == 1 || n_threads == all;
}

static struct rf_error *limits_notes(struct roofs_run *run)
{
	const struct topology *topology = run->topology;
	struct rf_error *error = NULL;
	if (topology->usable_threads < topology->n_cpus)
		error = roofs_note(run, "the CPU quota of the control group is %.2f CPUs: roofs up "
				   "to %d of %d hardware threads", topology->limits.cpus,
				   topology->usable_threads, topology->n_cpus);
	else if (topology->limits.cpus > 0 && topology->limits.cpus < topology->n_cpus)
		error = roofs_note(run, "the CPU quota of the control group is %.2f CPUs: longer "
				   "runs are throttled below these roofs", topology->limits.cpus);
	for (int level = 1; level <= TOPOLOGY_LEVELS && !error; level++)
		if (!topology_share_bytes(topology, level, 1))
			error = roofs_note(run, "no L%d cache is reported: its bandwidth is not "
					   "measured", level);
	return error;
}

/* Keeps the higher of several measurements. */
static struct rf_error *measure_clock(struct roofs_run *run, struct team *team,
				      struct machine *machine)
{
	double ghz;
	roofs_progress(run, "clock");
	struct rf_error *error = clock_measure(team, run->effort, &ghz);
	if (!error && ghz > machine->clock_ghz)
		machine->clock_ghz = ghz;
	return error;
}

static struct rf_error *measure_with_team(struct roofs_run *run, struct team *team,
					  struct machine *machine)
{
	int n_threads = team_size(team);
	struct rf_error *error = NULL;
	if (!team_is_pinned(team))
		error = roofs_note(run, "threads could not be pinned: roofs may be too low");
	if (!error && n_threads == 1)
		error = measure_clock(run, team, machine);
	if (!error && compute_at(n_threads, run->topology->usable_threads))
		error = roofs_compute(run, team);
	/* Again, now that the core has been busy for long enough to have reached its clock. */
	if (!error && n_threads == 1)
		error = measure_clock(run, team, machine);
	return error ? error : roofs_bandwidth(run, team);
}

static struct rf_error *measure_at(struct roofs_run *run, int n_threads, struct machine *machine)
{
	int *cpus = calloc(n_threads, sizeof(*cpus));
	if (!cpus)
		return out_of_memory();
	for (int i = 0; i < n_threads; i++)
		cpus[i] = run->topology->cpus[i].os_index;
	struct team *team = NULL;
	struct rf_error *error = team_create(cpus, n_threads, &team);
	free(cpus);
	if (error && n_threads > 1 && error->code == RF_EUNAVAILABLE) {
		/* A limit on threads: what fits is still worth having. */
		struct rf_error *full = roofs_note(run, "%s: no roofs at that count", error->message);
		rf_error_destroy(error);
		return full;
	}
	if (!error)
		error = measure_with_team(run, team, machine);
	team_destroy(team);
	return error;
}

static int count_steps(const struct topology *topology)
{
	int steps = 2 /* clock */, all = topology->usable_threads;
	for (int n = 1; n; n = next_count(n, all))
		steps += (compute_at(n, all) ? roofs_compute_steps() : 0) +
			 roofs_bandwidth_steps(topology);
	return steps;
}

static void free_rows(struct roofs_run *run)
{
	for (size_t i = 0; i < run->n_notes; i++)
		free(run->notes[i]);
	free(run->notes);
	free(run->roofs);
}

struct rf_error *roofs_measure(const struct topology *topology, const struct measure_effort *effort,
			       const struct machine_options *options, struct machine *machine)
{
	struct roofs_run run = {
		.topology = topology, .effort = effort, .options = options,
		.n_steps = count_steps(topology), .started_ns = measure_now_ns(),
	};
	struct rf_error *error = limits_notes(&run);
	for (int n = 1; n && !error; n = next_count(n, topology->usable_threads))
		error = measure_at(&run, n, machine);
	roofs_bandwidth_deinit(&run);
	if (error) {
		free_rows(&run);
		return error;
	}
	roofs_mark_levels(run.roofs, run.n_roofs);
	machine->roofs = run.roofs;
	machine->n_roofs = run.n_roofs;
	machine->notes = run.notes;
	machine->n_notes = run.n_notes;
	return NULL;
}
