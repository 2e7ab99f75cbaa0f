/* Starts the program with its streams and sampler, follows it to its end, and cleans up; also where
 * rfprof itself fails in the midst of it. */
#include "tracer/run/run_launch.h"

#include "base/clock.h"
#include "base/crash.h"
#include "base/progress.h"
#include "base/thread.h"
#include "machine/data/size_curve.h"
#include "tracer/flush/cache_flush.h"
#include "tracer/launch/launch.h"
#include "tracer/run/run_calls.h"
#include "tracer/run/run_idle.h"
#include "tracer/run/run_snapshot.h"
#include "tracer/schedule/schedule.h"
#include "tracer/span/breakpoints.h"
#include "tracer/span/entry_stop.h"
#include "tracer/target/counted_run.h"
#include "tracer/timed/pmu_run.h"
#include "tracer/timed/sample_log.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- when rfprof fails ---- */

/* What becomes of the program when rfprof fails while it runs (base/crash.h).
 *
 * In the timed run the program is the user's own: it goes on natively, its standard streams are
 * carried on, and rfprof ends as it ends.  In a counted run it cannot go on without rfprof, and
 * before it is released it has not begun: it is ended, and rfprof ends with status 2.
 *
 * These steps are done by a signal handler: only async-signal-safe calls. */

static struct {
	struct launch *launch;
	const struct stdio_plan *plan;
	int *status;
} watched;

static void rest(void)
{
	nanosleep(&(const struct timespec){.tv_nsec = 10000000}, NULL);
}

/* The main thread may wait for the program, too, and be first: then it leaves the status. */
static int wait_for_program(void)
{
	int status;
	while (waitpid(watched.launch->pid, &status, 0) < 0)
		if (errno == ECHILD) {
			while ((status = __atomic_load_n(watched.status, __ATOMIC_ACQUIRE)) ==
			       NO_STATUS)
				rest();
			break;
		}
	return status;
}

static void pass_on(void *context)
{
	(void)context;
	if (watched.launch->go_fd >= 0)
		close(watched.launch->go_fd); /* it still waits to be released */
	const int status = wait_for_program();
	while (!stdio_plan_is_drained(watched.plan))
		rest();
	if (WIFSIGNALED(status))
		launch_end_like(status);
	_exit(WEXITSTATUS(status));
}

static void end_program(void *context)
{
	(void)context;
	kill(watched.launch->pid, SIGKILL);
}

/* From now on the child of `launch` is ended when rfprof fails. */
static void crash_ends_program(struct launch *launch)
{
	watched.launch = launch;
	crash_set_last("the program is ended, as it cannot go on without rfprof", end_program,
		       NULL);
}

/* From now on the program goes on.  *status: where its wait status will stand once it was waited
 * for; it is set to a value that stands for none. */
static void crash_keeps_program(struct launch *launch, const struct stdio_plan *plan, int *status)
{
	*status = NO_STATUS;
	watched.plan = plan;
	watched.status = status;
	watched.launch = launch;
	crash_set_last("the program goes on, without being profiled; there will be no profile",
		       pass_on, NULL);
}

/* ---- both runs ---- */

/* Ends a program that has not been released, waits for its streams, and says why it could not be
 * executed. */
static struct rf_error *end(struct run *run, struct launch *launch, struct rf_error *error)
{
	launch_forward_signals(0);
	const bool waiting = error && launch->go_fd >= 0;
	if (waiting)
		launch_abort(launch);
	stdio_plan_finish(run->plan);
	crash_set_last(NULL, NULL, NULL);
	if (waiting)
		return error;
	const int cause = launch_exec_errno(launch);
	if (!cause || error)
		return error;
	return rf_error_errno(RF_EINPUT, cause, "check that it runs without rfprof",
			      "cannot execute %s", run->path);
}

static struct rf_error *start(struct run *run, int number, struct sampler *sampler,
			      struct launch *launch)
{
	struct rf_error *error = stdio_plan_prepare(run->plan, number);
	char **environment = sampler && run->sampler_ops->environment
				     ? run->sampler_ops->environment(sampler, environ)
				     : NULL;
	const struct launch_spec spec = {
		.path = run->path,
		.argv = run->options->argv,
		.envp = environment ? environment : environ,
		.plan = run->plan,
		.is_traced = sampler && run->options->traffic.caches_at_calls == CACHES_COLD,
	};
	if (!error)
		error = launch_start(&spec, launch);
	if (error)
		return error;
	run->started = true;
	crash_ends_program(launch);
	launch_forward_signals(launch->pid);
	error = stdio_plan_start(run->plan);
	return error ? end(run, launch, error) : NULL;
}

static struct sampler *create_sampler(const struct run *run, struct profile *profile)
{
	struct sampler *sampler = run->sampler_ops->create(profile, run->kept);
	if (sampler && run->options->no_children)
		sampler->first_only = true;
	return sampler;
}

static void destroy_sampler(struct run *run, struct sampler *sampler)
{
	const char *refused = sampler ? sample_log_refused(sampler->log) : NULL;
	if (refused)
		run_log_warn(&run->log, rf_error_create(RF_EACCESS, NULL, "%s", refused));
	run->sampler_ops->destroy(sampler);
}

/* ---- timed ---- */

/* A sampler does not see how the program ends. */
static void note_first_exit(const struct timed_run *timed, pid_t pid)
{
	const uint32_t row = profile_find_process(timed->profile, RUN_TIMED, pid);
	if (row != PROFILE_NONE)
		timed->profile->processes[row].exit_status = timed->row.exit_status;
}

/* Refused counters are replaced by the next source: the run goes on. */
static struct pmu_run *open_counters(struct run *run, pid_t pid, struct sampler *sampler)
{
	struct pmu_run *counters = NULL;
	struct rf_error *error = NULL;
	if (run->counters.choice.counters && run->sampler_ops != &sampler_perf)
		error = rf_error_create(RF_EUNAVAILABLE, NULL,
					"hardware counters need the sampler perf");
	else if (run->counters.choice.counters)
		error = pmu_run_start(&perf_source_kernel, &run->counters, pid,
				      run->options->no_children, sampler, &counters);
	if (error) {
		run_log_warn(&run->log, error);
		pmu_plan_refuse(&run->counters);
	}
	return counters;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static void add_samples(struct timed_run *timed)
{
	timed->row.samples = timed->profile->n_samples;
	for (size_t i = 0; i < timed->profile->n_samples; i++)
		timed->row.time_ns += timed->profile->samples[i].weight_ns;
}

/* Waits for the program's end.  It is there until its signals to this process have been looked at:
 * their handler asks who has sent them. */
static void wait_for_end(pid_t pid, int *status, struct rusage *usage, struct sampler *sampler)
{
	siginfo_t info;
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	usage_at_end(pid, &sampler->usage);
	while (wait4(pid, status, 0, usage) < 0 && errno == EINTR)
		;
}

/* What the kernel tells of the program and the children that it waited for. */
static void note_usage(struct profile *profile, const struct rusage *usage,
		       const struct usage *files)
{
	struct rusage own;
	const double peak = (double)usage->ru_maxrss * 1024;
	profile_set_fact(profile, "minor_faults", "%ld", usage->ru_minflt);
	profile_set_fact(profile, "major_faults", "%ld", usage->ru_majflt);
	profile_set_fact(profile, "voluntary_switches", "%ld", usage->ru_nvcsw);
	profile_set_fact(profile, "involuntary_switches", "%ld", usage->ru_nivcsw);
	if (files->has_bytes) {
		profile_set_fact(profile, "read_bytes", "%" PRIu64, files->read_bytes);
		profile_set_fact(profile, "written_bytes", "%" PRIu64, files->written_bytes);
	}
	/* until its execve the child had rfprof's memory, which counts as its own */
	if (getrusage(RUSAGE_SELF, &own) == 0 && usage->ru_maxrss > own.ru_maxrss)
		profile_set_fact(profile, "peak_memory", "%.0f", peak);
}

/* While rfprof was stopped (SIGSTOP), or had no processor for long, the program may have ended:
 * then the end is what the kernel has recorded, where the sampler has such records. */
static void correct_wall(struct run *run, const struct launch *launch,
			 const struct sampler *sampler, struct timed_run *timed)
{
	const uint32_t row = profile_find_process(timed->profile, RUN_TIMED, launch->pid);
	const uint64_t lived = row == PROFILE_NONE ? 0 : timed->profile->processes[row].end_ns;
	const double end_s = ((double)sample_log_start(sampler->log) - (double)sampler->release_ns +
			      (double)lived) *
			     1e-9;
	const bool was_late = lived && timed->row.wall_s - end_s > SCHEDULE_MOST_END_NS * 1e-9;
	if (!launch_was_continued() && !was_late)
		return;
	if (lived && end_s < timed->row.wall_s)
		timed->row.wall_s = end_s;
	if (!lived)
		run_log_note(&run->log, "rfprof was stopped while the program ran: its wall time "
					"may hold the pause");
}

/* ---- a span of the timed run ---- */

struct span_start {
	struct span *span;
	struct sampler *sampler;
};

static struct rf_error *watch_functions(void *context, pid_t pid)
{
	const struct span_start *start = context;
	return breakpoints_start(start->span, pid, &start->sampler->breakpoints);
}

static bool watches_functions(const struct run *run)
{
	return run->span && span_is_by_function(run->span);
}

/* Where functions cannot be watched. */
static struct rf_error *prepare_span(struct run *run, pid_t pid, struct sampler *sampler)
{
	sampler->span = run->span;
	if (!watches_functions(run))
		return NULL;
	if (run->sampler_ops != &sampler_perf)
		return rf_error_create(RF_EUNAVAILABLE, "take --delay and --duration, or --once",
				       "--start-at and --stop-at need the sampler perf");
	return entry_stop_prepare(pid);
}

/* ---- the timed run itself ---- */

/* The program runs from now on. */
static struct rf_error *release(struct run *run, struct launch *launch, struct sampler *sampler,
				struct run_calls *calls)
{
	struct span_start start = {run->span, sampler};
	sampler->release_ns = clock_now_ns();
	if (run->span)
		span_released(run->span, sampler->release_ns);
	launch_release(launch);
	run_calls_begin(calls, launch->pid, sampler->profile);
	return watches_functions(run) ? entry_stop_wait(launch->pid, watch_functions, &start)
				      : NULL;
}

/* The times of the timed run, whose program has ended. */
static void note_times(struct run *run, const struct launch *launch, const struct rusage *usage,
		       const struct sampler *sampler, struct timed_run *timed)
{
	timed->row.wall_s = (double)(sampler->end_ns - sampler->release_ns) * 1e-9;
	timed->row.user_s = seconds(usage->ru_utime);
	timed->row.system_s = seconds(usage->ru_stime);
	if (run->span) {
		timed->row.wall_s = span_save(run->span, sampler->end_ns, timed->profile);
		timed->row.user_s = timed->row.system_s = 0; /* of the whole run */
	} else {
		note_usage(timed->profile, usage, &sampler->usage);
		correct_wall(run, launch, sampler, timed);
	}
	profile_set_fact(timed->profile, "wall_s", "%.6f", timed->row.wall_s);
}

/* Waits for the program's end, and looks meanwhile at the cores that it runs on. */
static void follow_to_end(struct run *run, pid_t pid, struct sampler *sampler,
			  struct timed_run *timed, struct rusage *usage)
{
	struct core_looks looks;
	struct core_watch *watch = core_watch_start(sampler);
	wait_for_end(pid, &timed->row.exit_status, usage, sampler);
	sampler->end_ns = clock_now_ns();
	core_watch_stop(watch, &looks);
	if (!run->core_looks.n)
		run->core_looks = looks;
}

/* Releases the program, waits for its end, and adds samples, threads, modules and what `counters`
 * (or NULL) counted to its profile. */
static struct rf_error *follow_timed(struct run *run, struct launch *launch,
				     struct sampler *sampler, struct pmu_run *counters,
				     struct timed_run *timed)
{
	struct rusage usage = {0};
	struct run_snapshots snapshots;
	run_snapshots_start(&snapshots, run, timed->profile, sampler);
	struct run_calls calls;
	run_calls_prepare(&calls, run, launch->pid, timed->profile);
	struct rf_error *error = prepare_span(run, launch->pid, sampler)
					 ?: run->sampler_ops->start(sampler, launch->pid);
	if (error) {
		run_calls_deinit(&calls, sampler);
		return error;
	}
	usage_at_start(launch->pid, &sampler->usage);
	run_calls_flush(&calls, run, launch->pid, sampler);
	struct rf_error *refusal = release(run, launch, sampler, &calls);
	cache_flush_wait(calls.flush);
	follow_to_end(run, launch->pid, sampler, timed, &usage);
	timed->has_ended = !refusal;
	run->calls = sampler->usage.calls;
	pmu_run_stop(counters);
	struct rf_error *calls_error = run_calls_finish(&calls, timed->profile);
	error = run->sampler_ops->finish(sampler);
	run_snapshots_end(&snapshots);
	breakpoints_stop(sampler->breakpoints);
	run_calls_deinit(&calls, sampler);
	if (error)
		rf_error_destroy(calls_error);
	else
		error = calls_error ?: pmu_run_save(counters, timed->profile);
	note_times(run, launch, &usage, sampler, timed);
	add_samples(timed);
	if (refusal)
		rf_error_destroy(error);
	return refusal ?: error;
}

/* The program of run 1 is the user's own; that of a repetition has done its work in run 1. */
static struct rf_error *launch_timed(struct run *run, int number, struct sampler *sampler,
				     struct timed_run *timed)
{
	struct launch launch;
	struct rf_error *error = start(run, number, sampler, &launch);
	if (error)
		return error;
	struct pmu_run *counters = open_counters(run, launch.pid, sampler);
	if (number == 1)
		crash_keeps_program(&launch, run->plan, &timed->row.exit_status);
	error = end(run, &launch, follow_timed(run, &launch, sampler, counters, timed));
	pmu_run_destroy(counters);
	if (!error)
		note_first_exit(timed, launch.pid);
	return error;
}

struct rf_error *run_timed(struct run *run, int number, struct timed_run *timed)
{
	const char *why;
	struct sampler *sampler = create_sampler(run, timed->profile);
	if (!sampler)
		return rf_error_no_memory();
	struct rf_error *error = launch_timed(run, number, sampler, timed);
	destroy_sampler(run, sampler);
	timed->other_output = number == 2 && stdio_plan_compare(run->plan, &why) == STDIO_DIFFERENT;
	return error;
}

/* ---- counted ---- */

/* What the program took in the timed run, with what of it was not measured; 0: not known. */
static double native_s(const struct run *run)
{
	return profile_number_fact(run->profile, run->span ? "run_s" : "wall_s", 0);
}

/* What is missing of kernels where the only run is a counted one. */
static void note_once(const struct run *run)
{
	if (run->options->traffic.caches_at_calls == CACHES_COLD)
		profile_set_fact(run->profile, "flush_why",
				 "with --once there is no run that is only timed");
	if (run->options->traffic.kernels)
		profile_set_fact(run->profile, "call_times_why",
				 "with --once the program's own code, at which breakpoints are, "
				 "does not run, but its translation, and all times are those of "
				 "that");
}

static struct rf_error *follow_counted(struct run *run, struct launch *launch,
				       struct counted_run *counted, struct sampler *sampler)
{
	struct rf_error *error = NULL;
	if (sampler) {
		sampler->map = counted_run_map;
		sampler->map_context = counted;
		sampler->lock = counted_run_lock(counted);
		sampler->span = run->span;
		error = run->sampler_ops->start(sampler, launch->pid);
		note_once(run);
	}
	const uint64_t begin_ns = clock_now_ns();
	/* in the only run the terminal is the program's */
	struct progress_clock shown;
	const bool only = run->options->once || run->options->kind == RUN_KIND_COUNT;
	progress_clock_start(&shown, only || run->log.quiet ? NULL : run->log.stream,
			     "the program is counted", native_s(run));
	counted_run_set_span(counted, run->span);
	struct idle_watch *watch = only ? NULL
					: idle_watch_start(run->profile, counted_run_lock(counted),
							   launch->pid, native_s(run));
	if (!error)
		error = counted_run_follow(counted, launch, &run->counted_status);
	const double idle_s = idle_watch_stop(watch);
	if (idle_s > 0)
		profile_set_fact(run->profile, "counted_idle_s", "%.1f", idle_s);
	progress_clock_end(&shown);
	profile_set_fact(run->profile, "counted_wall_s", "%.6f",
			 (double)(clock_now_ns() - begin_ns) * 1e-9);
	if (!error && sampler)
		error = run->sampler_ops->finish(sampler);
	return error;
}

/* Where this machine's TLBs are not known: Skylake's (Intel 64 and IA-32 Architectures Optimization
 * Reference Manual, "Skylake Client Microarchitecture: TLB parameters"). */
#define USUAL_NEAR_PAGES 64
#define USUAL_FAR_PAGES 1536

/* With --once times are those of the tracing, where that is asked for. */
static struct traffic_options choose_traffic(const struct run *run)
{
	struct traffic_options traffic = run->options->traffic;
	traffic.trace = run->counters.choice.traffic == TRAFFIC_FROM_TRACE;
	traffic.last_cache_bytes = size_verdict(&run->machine).effective;
	traffic.caches = run->machine.caches;
	traffic.n_caches = run->machine.n_caches;
	traffic.kept = run->kept;
	traffic.native_s = native_s(run);
	if (traffic.tlb && !traffic.tlb_pages[0]) {
		const struct page_costs *pages = &run->machine.pages;
		traffic.tlb_pages[0] = pages->last_pages ? pages->first_pages : USUAL_NEAR_PAGES;
		traffic.tlb_pages[1] = pages->last_pages ? pages->last_pages : USUAL_FAR_PAGES;
	}
	return traffic;
}

static void *clean_up(void *context)
{
	counted_run_destroy(context);
	return NULL;
}

/* To give back the memory of a counted run takes as long as to name its code: a thread does so
 * meanwhile. */
static void start_cleaning(struct run *run, struct counted_run *counted)
{
	run->cleans = counted && thread_start(&run->cleaner, clean_up, counted) == 0;
	if (!run->cleans)
		counted_run_destroy(counted);
}

void run_counted_finish(struct run *run)
{
	if (run->cleans)
		pthread_join(run->cleaner, NULL);
	run->cleans = false;
}

struct rf_error *run_counted(struct run *run, int number)
{
	const bool once = run->options->once;
	struct sampler *sampler = once ? create_sampler(run, run->profile) : NULL;
	const struct traffic_options traffic = choose_traffic(run);
	struct counted_run *counted = counted_run_create(run->profile, once || number == 1,
							 run->options->no_children, &traffic);
	struct launch launch;
	struct rf_error *error = NULL;
	if (!counted || (once && !sampler))
		error = rf_error_no_memory();
	if (!error && once)
		counted_run_keep_images(counted);
	if (!error)
		error = start(run, number, sampler, &launch);
	if (!error) {
		error = follow_counted(run, &launch, counted, sampler);
		error = end(run, &launch, error);
		run->counted = !error;
	}
	if (sampler)
		destroy_sampler(run, sampler);
	start_cleaning(run, counted);
	return error;
}
