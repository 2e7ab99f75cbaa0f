/* The steps of `rfprof PROGRAM` in their order, from the choice of sources to a complete profile.
 */
#include "tracer/run/run.h"
#include "tracer/kernel/kernel_files.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "names/resolve.h"
#include "profile/profile.h"
#include "symbols/debuginfod.h"
#include "tracer/launch/launch.h"
#include "tracer/launch/limits.h"
#include "tracer/launch/program.h"
#include "tracer/run/run_attach.h"
#include "tracer/run/run_calls.h"
#include "tracer/run/run_core.h"
#include "tracer/run/run_facts.h"
#include "tracer/run/run_launch.h"
#include "tracer/run/run_ranks.h"
#include "tracer/run/run_repeat.h"
#include "tracer/run/run_roofs.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- where the numbers come from ---- */

/* Asking for the first event of a second can take the kernel ten milliseconds of waiting for all
 * processors.  A thread does so while the kept roofs are read. */
struct probing {
	pthread_t thread;
	bool runs;
	struct rf_error *refusal;
};

static void *probe_perf(void *context)
{
	struct probing *probing = context;
	probing->refusal = sampler_perf.probe();
	return NULL;
}

static void probing_start(const struct run *run, struct probing *probing)
{
	*probing = (struct probing){0};
	if (run->options->sampler != SAMPLER_TIMER)
		probing->runs = thread_start(&probing->thread, probe_perf, probing) == 0;
}

static struct rf_error *probing_end(struct probing *probing)
{
	if (!probing->runs)
		return sampler_perf.probe();
	pthread_join(probing->thread, NULL);
	return probing->refusal;
}

/* Where times come from; RF_EUNAVAILABLE where the sampler that was asked for, or any, is refused.
 */
static struct rf_error *choose_sampler(struct run *run, struct probing *probing)
{
	const enum sampler_option wanted = run->options->sampler;
	if (wanted != SAMPLER_TIMER) {
		struct rf_error *refusal = probing_end(probing);
		if (!refusal)
			run->sampler_ops = &sampler_perf;
		if (!refusal || wanted == SAMPLER_PERF)
			return refusal;
		run_log_warn(&run->log, refusal);
	}
	run->sampler_ops = &sampler_timer;
	return sampler_timer.probe();
}

/* Which hardware counters are read.  What was asked for and is not to be had is said; the next
 * source takes its place. */
static struct rf_error *choose_counters(struct run *run)
{
	struct rf_error *error =
		pmu_plan_init(&perf_source_kernel, &run->options->counters, &run->counters);
	const struct choice *choice = &run->counters.choice;
	if (error || !choice->refused)
		return error;
	const enum work_option work = run->options->counters.work;
	const char *why =
		work == WORK_PMU || work == WORK_BOTH ? choice->why_work : choice->why_traffic;
	run_log_warn(&run->log, rf_error_create(RF_EUNAVAILABLE, NULL, "%s", why));
	return NULL;
}

/* Whether debug files are fetched; said before the program runs, so that it can be put right
 * without waiting for the end. */
static void choose_debuginfod(struct run *run)
{
	struct rf_error *error = run->options->debuginfod ? debuginfod_check() : NULL;
	run->fetches = run->options->debuginfod && !error;
	run_log_warn(&run->log, error);
}

/* ---- the runs ---- */

static struct rf_error *run_once(struct run *run)
{
	const char *said = run_ranks_announcement(run);
	if (!said)
		said = run->counters.choice.traffic == TRAFFIC_FROM_TRACE
			       ? "one counted and traced run: the times include both"
			       : "one counted run: the times include the counting";
	run_log_say(&run->log, said);
	run->counted_status = NO_STATUS;
	struct rf_error *error = run_counted(run, 1);
	run->timed_status = run->counted_status;
	run->has_ended = run->counted_status != NO_STATUS;
	const char *wall = profile_get_fact(run->profile, "counted_wall_s");
	if (error)
		return error;
	char *copy = wall ? strdup(wall) : NULL; /* the fact table may move */
	profile_set_fact(run->profile, "wall_s", "%s", copy ? copy : "0");
	free(copy);
	if (run->span)
		profile_set_fact(run->profile, "wall_s", "%.6f",
				 span_save(run->span, clock_now_ns(), run->profile));
	profile_set_fact(run->profile, "once", "1");
	profile_set_fact(run->profile, "time_source", "counted run (%s)", run->sampler_ops->name);
	return NULL;
}

/* Counted and not timed: its times are those of another job (rfprof join). */
static struct rf_error *run_counted_alone(struct run *run)
{
	run_log_say(&run->log, run_ranks_announcement(run));
	run->counted_status = NO_STATUS;
	struct rf_error *error = run_counted(run, 1);
	run->timed_status = run->counted_status;
	run->has_ended = run->counted_status != NO_STATUS;
	return error;
}

static const char *announcement(const struct run *run)
{
	const struct choice *choice = &run->counters.choice;
	const char *alone = run_ranks_announcement(run);
	if (alone)
		return alone;
	if (!choice->counted_run)
		return "one run: it is timed, and counted by the PMU";
	if (choice->counters)
		return "run 1/2 times the program and reads its counters, run 2/2 counts it";
	if (run->counters.why[0])
		return "no hardware counters here: run 1/2 times the program, run 2/2 counts it";
	return "run 1/2 times the program, run 2/2 counts it";
}

static void announce(const struct run *run)
{
	const unsigned n = run->options->repeat;
	char text[96];
	snprintf(text, sizeof(text), "runs 1 to %u time the program%s", n,
		 run->counters.choice.counted_run ? ", one more counts it" : "");
	run_log_say(&run->log, n > 1 ? text : announcement(run));
}

/* Calls that read and write, of a program that was interrupted, by which the same moment can be
 * found in the counted run: to a hundredth, where they come evenly. */
#define FEWEST_CALLS 100

/* The timed run was interrupted: the counted one is to end at the same point of the work.  False:
 * it cannot be found, and is said. */
static bool count_up_to_interruption(struct run *run)
{
	static const struct span_options all = {0};
	const bool is_whole = !run->span && run->options->repeat == 1;
	if (!is_whole || run->calls < FEWEST_CALLS || !(run->span = span_create(&all))) {
		run_log_note(&run->log,
			     "interrupted: the second run, which counts, was left out, since the "
			     "program read and wrote too rarely to find the same moment in it");
		return false;
	}
	const int number = launch_forget_interruption();
	run->span->calls = run->calls;
	run->span->ends_by = number ? number : SIGINT;
	profile_set_fact(run->profile, "interrupted_calls", "%" PRIu64, run->calls);
	run_log_say(&run->log, "interrupted: run 2/2 counts the program up to the same moment "
			       "(Ctrl-C ends that)");
	return true;
}

/* What fails in the second run is a warning: there are times to report. */
static struct rf_error *run_twice(struct run *run)
{
	announce(run);
	struct rf_error *error = run_timed_all(run);
	if (error || !run->counters.choice.counted_run || run->options->kind == RUN_KIND_TIME)
		return error;
	const bool was_interrupted = launch_was_interrupted(run->timed_status);
	if (was_interrupted && !count_up_to_interruption(run))
		return NULL;
	error = run_counted(run, 2);
	if (run->counted && was_interrupted)
		profile_set_fact(run->profile, "stdout_same",
				 "unknown: the program was interrupted");
	else if (run->counted)
		run_note_comparison(run);
	if (launch_was_interrupted(run->counted_status))
		profile_set_fact(run->profile, "counts_incomplete", "interrupted in run 2");
	run_log_warn(&run->log, error);
	return NULL;
}

/* A limit is too low for rfprof, but perhaps not for the program, which is executed in rfprof's
 * place.  Returns only when that cannot be. */
static struct rf_error *run_natively(struct run *run, struct rf_error *error)
{
	run_log_warn(&run->log, error);
	fprintf(run->log.stream, "rfprof: the program runs without being profiled\n");
	fflush(run->log.stream);
	limits_give_back();
	execv(run->path, run->options->argv);
	return rf_error_errno(RF_EINPUT, errno, "check that it runs without rfprof",
			      "cannot execute %s", run->path);
}

/* ---- the names of the code that ran ---- */

/* One line that overwrites itself. */
static void show_fetch(void *context, const char *module, long done, long all)
{
	const struct run_log *log = context;
	if (log->quiet || !run_log_is_terminal(log))
		return;
	char *name = text_clean(module);
	if (done < 0)
		fprintf(log->stream, "\033[K");
	else if (all > 0)
		fprintf(log->stream,
			"rfprof: debug information of %s: %.1f of %.1f MB (Ctrl-C ends "
			"this)\033[K\r",
			name ? name : "?", (double)done * 1e-6, (double)all * 1e-6);
	else
		fprintf(log->stream,
			"rfprof: debug information of %s: %.1f MB (Ctrl-C ends this)\033[K\r",
			name ? name : "?", (double)done * 1e-6);
	fflush(log->stream);
	free(name);
}

static void note_fetched(struct run *run, const struct debuginfod_result *result)
{
	char *trouble = result->trouble ? text_clean(result->trouble) : NULL;
	if (trouble)
		run_log_warn(&run->log,
			     rf_error_create(RF_EUNAVAILABLE, NULL, "debuginfod: %s", trouble));
	free(trouble);
	profile_set_fact(run->profile, "debuginfod", "%zu files fetched, %zu not found",
			 result->fetched, result->missing);
	if (!run->log.quiet)
		fprintf(run->log.stream,
			"rfprof: debuginfod: %zu debug file%s fetched, %zu not found\n",
			result->fetched, result->fetched == 1 ? "" : "s", result->missing);
}

/* Names the code of the profile, with debug files from servers where they were asked for. */
static struct rf_error *resolve_names(struct run *run)
{
	struct debuginfod *debuginfod = NULL;
	struct rf_error *error =
		run->fetches ? debuginfod_create(show_fetch, &run->log, &debuginfod) : NULL;
	run_log_warn(&run->log, error);
	const struct resolve_options options = {
		.fetcher = debuginfod ? debuginfod_fetcher(debuginfod) : NULL,
		.kept = run->kept,
		.source = !run->options->no_source,
	};
	error = names_resolve(run->profile, &options);
	if (options.kept)
		run_log_warn(&run->log, kept_store_warning(options.kept));
	if (debuginfod && !error) {
		const struct debuginfod_result result = debuginfod_result(debuginfod);
		note_fetched(run, &result);
	}
	debuginfod_destroy(debuginfod);
	return error;
}

/* ---- all of it ---- */

/* Natively it would have reached the shell, or nobody. */
static void note_ignored_signals(struct run *run)
{
	char names[700], text[900];
	if (!launch_ignored_signals(names, sizeof(names)))
		return;
	snprintf(
		text, sizeof(text),
		"the program sent its parent or its process group %s: rfprof, which is the one and "
		"in the other, ignored that",
		names);
	run_log_note(&run->log, text);
}

static struct rf_error *finish(struct run *run)
{
	run_note_end(run);
	note_ignored_signals(run);
	struct rf_error *error = profile_match_processes(run->profile);
	run_calls_settle(run->profile);
	if (!error)
		error = run_roofs_take(run) ?: run_core_take(run);
	if (error)
		return error;
	/* A reader of the table who has left (rfprof ./app | head) is an error to be told of; it
	 * must not end rfprof before the profile is saved.  The program had the signal as it was.
	 */
	signal(SIGPIPE, SIG_IGN);
	return resolve_names(run);
}

/* In a process of its own (run_snapshot.h). */
static struct rf_error *save_snapshot(struct run *run)
{
	return finish(run) ?: run->options->save_snapshot(run->options->snapshot_context, run);
}

bool run_is_shortage(const struct rf_error *error)
{
	const bool is_the_programs = error->code == RF_EINPUT; /* it could not be executed */
	return error == rf_error_no_memory() ||
	       (!is_the_programs && (error->errnum == ENOMEM || error->errnum == EAGAIN));
}

static struct rf_error *choose_and_run(struct run *run)
{
	const struct run_options *options = run->options;
	struct probing probing;
	probing_start(run, &probing);
	if (!options->rank->known)
		run_roofs_look(run);
	struct rf_error *error =
		choose_sampler(run, &probing) ?: choose_counters(run)
		?: (options->rank->known ? run_ranks_roofs : run_roofs_read)(run);
	if (error)
		return error;
	run_note_environment(run);
	run_ranks_note(run);
	choose_debuginfod(run);
	if (options->pid)
		return run_attached(run);
	if (options->kind == RUN_KIND_COUNT)
		return run_counted_alone(run);
	return options->once ? run_once(run) : run_twice(run);
}

struct rf_error *run_program(struct run *run)
{
	struct rf_error *error = choose_and_run(run);
	if (error && !run->started && !run->options->pid &&
	    (run_is_shortage(error) || error->code == RF_EACCESS))
		error = run_natively(run, error);
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
	if (span_is_asked_for(&run->options->span)) {
		run->span = span_create(&run->options->span);
		if (!run->span)
			return rf_error_no_memory();
	}
	run->kept = run->options->no_cache ? NULL : kept_store_create();
	error = run_log_open(&run->log, run->options->log_path, run->options->quiet, run->profile);
	if (!error && run->options->traffic.kernels)
		error = kernel_files_check(run->options->traffic.kernels);
	if (!error && !run->options->pid) /* else it was found */
		error = program_find(run->options->argv[0], &run->path);
	return error;
}

struct rf_error *run_create(const struct run_options *options, struct run **out)
{
	const char *slash = strrchr(options->argv[0], '/');
	struct run *run = malloc(sizeof(*run));
	if (!run)
		return rf_error_no_memory();
	limits_raise();
	*run = (struct run){
		.options = options,
		.save_snapshot = save_snapshot,
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
	run_counted_finish(run);
	span_destroy(run->span);
	run_log_close(&run->log);
	stdio_plan_destroy(run->plan);
	profile_destroy(run->profile);
	kept_store_destroy(run->kept);
	machine_deinit(&run->machine);
	pmu_plan_deinit(&run->counters);
	free(run->path);
	free(run);
}
