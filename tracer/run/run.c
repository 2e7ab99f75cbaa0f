/* The steps of `rfprof PROGRAM` in their order, from the choice of sources to a complete profile.
 */
#include "tracer/run/run.h"

#include "tracer/launch/launch.h"
#include "tracer/launch/program.h"
#include "tracer/run/run_facts.h"
#include "tracer/run/run_launch.h"
#include "tracer/run/run_machine.h"
#include "tracer/run/run_names.h"
#include "tracer/run/run_sources.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- the runs ---- */

static struct rf_error *run_once(struct run *run)
{
	run_log_say(&run->log, "one counted run: the times include the counting");
	struct rf_error *error = run_counted(run, 1);
	run->timed_status = run->counted_status;
	const char *wall = profile_get_fact(run->profile, "counted_wall_s");
	if (error)
		return error;
	char *copy = wall ? strdup(wall) : NULL; /* the fact table may move */
	profile_set_fact(run->profile, "wall_s", "%s", copy ? copy : "0");
	free(copy);
	profile_set_fact(run->profile, "once", "1");
	profile_set_fact(run->profile, "time_source", "counted run (%s)", run->sampler_ops->name);
	return NULL;
}

static const char *announcement(const struct run *run)
{
	const struct choice *choice = &run->counters.choice;
	if (!choice->counted_run)
		return "one run: it is timed, and counted by the PMU";
	if (choice->counters)
		return "run 1/2 times the program and reads its counters, run 2/2 counts it";
	if (run->counters.why[0])
		return "no hardware counters here: run 1/2 times the program, run 2/2 counts it";
	return "run 1/2 times the program, run 2/2 counts it";
}

/* What fails in the second run is a warning: there are times to report. */
static struct rf_error *run_twice(struct run *run)
{
	run_log_say(&run->log, announcement(run));
	struct rf_error *error = run_timed(run);
	if (error || !run->counters.choice.counted_run)
		return error;
	if (launch_was_interrupted(run->timed_status)) {
		run_log_note(&run->log, "interrupted: the second run, which counts, was left out");
		return NULL;
	}
	error = run_counted(run, 2);
	if (run->counted)
		run_note_comparison(run);
	if (launch_was_interrupted(run->counted_status))
		profile_set_fact(run->profile, "counts_incomplete", "interrupted in run 2");
	run_log_warn(&run->log, error);
	return NULL;
}

static struct rf_error *finish(struct run *run)
{
	run_note_end(run);
	struct rf_error *error = profile_match_processes(run->profile);
	if (error)
		return error;
	/* A limit on file sizes, or a reader of the table who has left (rfprof ./app | head), is an
	 * error to be told of; it must not end rfprof before the profile is saved.  The program had
	 * the signals as they were. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return run_resolve_names(run);
}

struct rf_error *run_program(struct run *run)
{
	struct rf_error *error = run_choose_sampler(run);
	if (!error)
		error = run_choose_counters(run);
	if (!error)
		error = run_take_machine(run);
	if (error)
		return error;
	run_note_environment(run);
	run_choose_debuginfod(run);
	error = run->options->once ? run_once(run) : run_twice(run);
	return error ? error : finish(run);
}

/* ---- memory ---- */

static struct rf_error *prepare(struct run *run)
{
	struct rf_error *error = stdio_plan_create(&run->plan);
	if (error)
		return error;
	run->profile = profile_create();
	if (!run->profile)
		return rf_error_no_memory();
	error = run_log_open(&run->log, run->options->log_path, run->options->quiet, run->profile);
	return error ? error : program_find(run->options->argv[0], &run->path);
}

struct rf_error *run_create(const struct run_options *options, struct run **out)
{
	const char *slash = strrchr(options->argv[0], '/');
	struct run *run = malloc(sizeof(*run));
	if (!run)
		return rf_error_no_memory();
	*run = (struct run){
		.options = options,
		.name = slash && slash[1] ? slash + 1 : options->argv[0],
	};
	struct rf_error *error = prepare(run);
	if (error)
		run_destroy(run);
	else
		*out = run;
	return error;
}

void run_destroy(struct run *run)
{
	if (!run)
		return;
	run_log_close(&run->log);
	stdio_plan_destroy(run->plan);
	profile_destroy(run->profile);
	pmu_plan_deinit(&run->counters);
	free(run->path);
	free(run);
}
