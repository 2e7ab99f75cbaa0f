/* Takes the machine's roofs into a profile, and measures some of them again behind the run. */
#include "tracer/run/run_roofs.h"

#include "base/progress.h"
#include "machine/data/roof_history.h"
#include "machine/store/custom_roofs.h"
#include "machine/store/machine_again.h"
#include "machine/store/machine_get.h"
#include "tracer/launch/launch.h"
#include "tracer/run/run_launch.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* What measuring again may take: so much of the timed run, at least and at most. */
#define AGAIN_SHARE 0.02
#define AGAIN_LEAST_NS 5e7
#define AGAIN_MOST_NS 5e8

/* Behind shorter runs it would be most of their time: there it is done once in so many seconds. */
#define SHORT_RUN_NS 2.5e8
#define SHORT_RUN_SECONDS 3600

struct measuring {
	struct run_log *log;
	struct progress progress;
};

/* A line for the first step, or on a terminal one that overwrites itself. */
static void show_progress(void *context, const char *what, int step, int n_steps)
{
	struct measuring *measuring = context;
	char text[192];
	snprintf(text, sizeof(text), "measuring this machine, once: %d/%d %s", step, n_steps, what);
	progress_show(&measuring->progress, (double)step / n_steps, text);
	if (step == 1 && !run_log_is_terminal(measuring->log))
		fprintf(measuring->log->stream, "rfprof: %s …\n", text);
	if (step == 1)
		fflush(measuring->log->stream);
}

void run_roofs_look(struct run *run)
{
	const struct machine_options options = {.quick = true, .kept = run->kept};
	run->knows_roofs = machine_kept(&options, &run->machine);
}

struct rf_error *run_roofs_read(struct run *run)
{
	struct rf_error *warning = NULL;
	if (run->knows_roofs)
		return NULL;
	struct measuring measuring = {&run->log, progress_begin(run->log.stream)};
	const struct machine_options options = {
		.quick = true,
		.progress = run->log.quiet ? NULL : show_progress,
		.progress_context = &measuring,
		.kept = run->kept,
	};
	struct rf_error *error = machine_get(&options, &run->machine, &warning);
	progress_end(&measuring.progress);
	run_log_warn(&run->log, warning);
	return error;
}

/* ---- behind the run ---- */

/* NULL: none was measured. */
static const struct roof *slowest_now(const struct machine *machine)
{
	const struct roof *slowest = NULL;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *row = &machine->roofs[i];
		if (row->now > 0 &&
		    (!slowest || row->now / row->best < slowest->now / slowest->best))
			slowest = row;
	}
	return slowest;
}

static void put_name(char *name, size_t size, const struct roof *row)
{
	if (row->kind == ROOF_COMPUTE)
		snprintf(name, size, "%s %s %s", roof_precision_name(row->precision),
			 roof_isa_name(row->isa), roof_op_name(row->op));
	else
		snprintf(name, size, "%s %s%s", roof_level_name(row->level), roof_op_name(row->op),
			 row->kind == ROOF_ZEROS    ? " of zeros"
			 : row->kind == ROOF_NARROW ? " by 8 bytes"
						    : "");
}

/* In one line of the first screen; `rfprof machine` has the history. */
char *run_roofs_slower(const struct machine *machine, double *share)
{
	const struct roof *row = slowest_now(machine);
	char name[64], *text = NULL;
	*share = row ? fmin(1, row->now / row->best) : 1;
	if (!row || !(row->now < ROOF_MODE * row->best))
		return NULL;
	put_name(name, sizeof(name), row);
	if (asprintf(&text, "SLOWER NOW: %s with %d thread%s at %.0f %% of its roof", name,
		     row->threads, row->threads == 1 ? "" : "s", 100 * row->now / row->best) < 0)
		return NULL;
	return text;
}

bool run_roofs_due(const struct machine *machine, double wall_ns, int64_t now_s)
{
	int64_t last = INT64_MIN;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *row = &machine->roofs[i];
		if (row->n_history && row->history[row->n_history - 1].when_s > last)
			last = row->history[row->n_history - 1].when_s;
	}
	return wall_ns >= SHORT_RUN_NS || last > now_s || last < now_s - SHORT_RUN_SECONDS;
}

static struct rf_error *measure_again(struct run *run)
{
	const double wall_ns = profile_number_fact(run->profile, "wall_s", 0) * 1e9;
	if (!run_roofs_due(&run->machine, wall_ns, time(NULL)))
		return NULL;
	const double budget_ns = fmin(fmax(AGAIN_SHARE * wall_ns, AGAIN_LEAST_NS), AGAIN_MOST_NS);
	double share;
	run_counted_finish(run); /* nothing runs beside a measurement */
	struct rf_error *error = machine_measure_again((uint64_t)budget_ns, &run->machine);
	if (error)
		return error;
	char *text = run_roofs_slower(&run->machine, &share);
	profile_set_fact(run->profile, "roofs_now", "%.3f", share);
	if (text)
		run_log_note(&run->log, text);
	free(text);
	return NULL;
}

struct rf_error *run_roofs_take(struct run *run)
{
	struct custom_roof_set custom;
	/* the roofs of before are there, and the program has run: what fails here is a warning */
	if (!run->options->keep_roofs && !run->is_snapshot &&
	    !launch_was_interrupted(run->timed_status))
		run_log_warn(&run->log, measure_again(run));
	run_log_warn(&run->log, custom_roofs_load(&custom));
	struct rf_error *error = profile_take_machine(run->profile, &run->machine);
	return error ? error : profile_take_custom(run->profile, custom.roofs, custom.n);
}
