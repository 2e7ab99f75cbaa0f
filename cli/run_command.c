#include "cli/run_command.h"

#include "base/text.h"
#include "cli/output_file.h"
#include "machine/store/custom_roofs.h"
#include "machine/store/machine_get.h"
#include "profile/profile_machine.h"
#include "report/export/export.h"
#include "report/model/model.h"
#include "symbols/debuginfod.h"
#include "tracer/launch/launch.h"
#include "tracer/launch/program.h"
#include "tracer/launch/stdio_plan.h"
#include "tracer/target/counted_run.h"
#include "tracer/timed/sampler.h"
#include "tracer/timed/timed_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* One `rfprof PROGRAM`. */
struct session {
	const struct run_options *options;
	struct profile *profile;
	struct stdio_plan *plan;
	FILE *log;
	char *path; /* file to execute */
	char *save_path;
	const char *name; /* base name of the program */
	const struct sampler_ops *sampler_ops;
	struct pmu_plan counters;
	int timed_status, counted_status;
	bool counted, fetches;
	int n_notes;
};

/* ---- messages ---- */

static void note(struct session *session, const char *text)
{
	char key[32];
	snprintf(key, sizeof(key), "note.%d", ++session->n_notes);
	profile_set_fact(session->profile, key, "%s", text);
}

static void say(const struct session *session, const char *text)
{
	if (!session->options->quiet)
		fprintf(session->log, "rfprof: %s\n", text);
}

static void warn(struct session *session, struct rf_error *error)
{
	if (!error)
		return;
	rf_error_print(error, session->log);
	note(session, error->message);
	rf_error_destroy(error);
}

static void progress(void *context, const char *what, int step, int n_steps)
{
	const struct session *session = context;
	if (!isatty(fileno(session->log)) && step > 1)
		return;
	fprintf(session->log, "rfprof: measuring this machine, once: %d/%d %s%s", step, n_steps,
		what, isatty(fileno(session->log)) ? "\033[K\r" : " …\n");
	if (step == n_steps && isatty(fileno(session->log)))
		fprintf(session->log, "\033[K");
	fflush(session->log);
}

/* ---- before the runs ---- */

static struct rf_error *check_output(struct session *session)
{
	const struct run_options *options = session->options;
	if (options->save_path)
		session->save_path = strdup(options->save_path);
	else if (asprintf(&session->save_path, "rfprof-%s.rfp", session->name) < 0)
		session->save_path = NULL;
	if (!session->save_path)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	struct rf_error *error = options->no_save ? NULL : output_file_check(session->save_path);
	const char *const others[] = {options->output_path, options->report.svg_path,
				      options->report.json_path, options->report.html_path};
	for (size_t k = 0; k < sizeof(others) / sizeof(others[0]) && !error; k++)
		error = output_file_check(others[k]);
	for (size_t k = 0; k < N_EXPORTS && !error; k++)
		error = output_file_check(options->report.exports.of[k]);
	return error ? error : export_check(&options->report.exports);
}

static struct rf_error *choose_sampler(struct session *session)
{
	const char *wanted = session->options->sampler;
	struct rf_error *refusal = NULL;
	if (strcmp(wanted, "timer") != 0) {
		refusal = sampler_perf.probe();
		if (!refusal)
			session->sampler_ops = &sampler_perf;
		if (!refusal || strcmp(wanted, "perf") == 0)
			return refusal;
		warn(session, refusal);
	}
	session->sampler_ops = &sampler_timer;
	return sampler_timer.probe();
}

/* What was asked for and is not to be had is said; the next source takes its place. */
static struct rf_error *choose_counters(struct session *session)
{
	struct rf_error *error =
		pmu_plan_init(&perf_source_kernel, &session->options->counters, &session->counters);
	const struct choice *choice = &session->counters.choice;
	if (error || !choice->refused)
		return error;
	const enum work_option work = session->options->counters.work;
	const char *why =
		work == WORK_PMU || work == WORK_BOTH ? choice->why_work : choice->why_traffic;
	warn(session, rf_error_create(RF_EUNAVAILABLE, NULL, "%s", why));
	return NULL;
}

/* Said before the program runs, so that it can be put right without waiting for the end. */
static void choose_debuginfod(struct session *session)
{
	struct rf_error *error = session->options->debuginfod ? debuginfod_check() : NULL;
	session->fetches = session->options->debuginfod && !error;
	warn(session, error);
}

/* The machine and the custom roofs go into the profile, so that it can be redrawn anywhere. */
static struct rf_error *measure_machine(struct session *session)
{
	struct machine machine = {0};
	struct custom_roof_set custom;
	struct rf_error *warning = NULL;
	const struct machine_options options = {
		.quick = true,
		.progress = session->options->quiet ? NULL : progress,
		.progress_context = session,
	};
	struct rf_error *error = machine_get(&options, &machine, &warning);
	warn(session, warning);
	if (error)
		return error;
	warn(session, custom_roofs_load(&custom));
	error = profile_take_machine(session->profile, &machine);
	if (!error)
		error = profile_take_custom(session->profile, custom.roofs, custom.n);
	machine_deinit(&machine);
	return error;
}

static void note_environment(struct session *session)
{
	struct utsname system;
	char *command = NULL, date[32];
	size_t size;
	time_t now = time(NULL);
	FILE *stream = open_memstream(&command, &size);
	for (char **word = session->options->argv; stream && *word; word++) {
		if (word != session->options->argv)
			fputc(' ', stream);
		text_write_word(stream, *word);
	}
	if (stream)
		fclose(stream);
	profile_set_fact(session->profile, "command", "%s", command ? command : "");
	free(command);
	profile_set_fact(session->profile, "program", "%s", session->name);
	uname(&system);
	profile_set_fact(session->profile, "kernel", "%s %s", system.sysname, system.release);
	profile_set_fact(session->profile, "hostname", "%s", system.nodename);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	profile_set_fact(session->profile, "date", "%s", date);
	profile_set_fact(session->profile, "rfprof_version", "%s", RFPROF_VERSION);
}

/* ---- the runs ---- */

static void in_child(void *context)
{
	stdio_plan_child(context);
}

static struct rf_error *start(struct session *session, int run, struct sampler *sampler,
			      struct launch *launch)
{
	struct rf_error *error = stdio_plan_prepare(session->plan, run);
	char **environment = sampler ? session->sampler_ops->environment(sampler, environ) : NULL;
	const struct launch_spec spec = {
		.path = session->path,
		.argv = session->options->argv,
		.envp = environment ? environment : environ,
		.in_child = in_child,
		.context = session->plan,
	};
	if (!error)
		error = launch_start(&spec, launch);
	if (error)
		return error;
	launch_forward_signals(launch->pid);
	return stdio_plan_start(session->plan);
}

static struct rf_error *end(struct session *session, struct launch *launch, struct rf_error *error)
{
	launch_forward_signals(0);
	if (error && launch->go_fd >= 0) {
		launch_abort(launch);
		stdio_plan_finish(session->plan);
		return error;
	}
	stdio_plan_finish(session->plan);
	int cause = launch_exec_errno(launch);
	if (!cause || error)
		return error;
	return rf_error_errno(RF_EINPUT, cause, "check that it runs without rfprof",
			      "cannot execute %s", session->path);
}

static struct sampler *create_sampler(const struct session *session)
{
	struct sampler *sampler = session->sampler_ops->create();
	if (sampler && session->options->no_children)
		sampler_set_first_only(sampler);
	return sampler;
}

/* A sampler does not see how the program ends. */
static void note_first_exit(struct session *session, pid_t pid)
{
	uint32_t row = profile_find_process(session->profile, RUN_TIMED, pid);
	if (row != PROFILE_NONE)
		session->profile->processes[row].exit_status = session->timed_status;
}

/* Refused counters are replaced by the next source: the run goes on. */
static struct pmu_run *open_counters(struct session *session, pid_t pid, struct sampler *sampler)
{
	struct pmu_run *counters = NULL;
	struct rf_error *error = NULL;
	if (session->counters.choice.counters && session->sampler_ops != &sampler_perf)
		error = rf_error_create(RF_EUNAVAILABLE, NULL,
					"hardware counters need the sampler perf");
	else if (session->counters.choice.counters)
		error = pmu_run_start(&perf_source_kernel, &session->counters, pid,
				      session->options->no_children, sampler, &counters);
	if (error) {
		warn(session, error);
		pmu_plan_refuse(&session->counters);
	}
	return counters;
}

static struct rf_error *run_timed(struct session *session)
{
	struct sampler *sampler = create_sampler(session);
	struct launch launch;
	double wall_s = 0;
	if (!sampler)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	struct rf_error *error = start(session, 1, sampler, &launch);
	struct pmu_run *counters = error ? NULL : open_counters(session, launch.pid, sampler);
	if (!error)
		error = end(session, &launch,
			    timed_run(&launch, session->profile, session->sampler_ops, sampler,
				      counters, &session->timed_status, &wall_s));
	session->sampler_ops->destroy(sampler);
	pmu_run_destroy(counters);
	if (!error)
		note_first_exit(session, launch.pid);
	profile_set_fact(session->profile, "wall_s", "%.6f", wall_s);
	return error;
}

static struct rf_error *follow_counted(struct session *session, struct launch *launch,
				       struct counted_run *counted, struct sampler *sampler)
{
	struct rf_error *error = NULL;
	if (sampler) {
		sampler_set_map(sampler, counted_run_map, counted);
		error = session->sampler_ops->start(sampler, launch->pid);
	}
	const double begin = monotonic_s();
	if (!error)
		error = counted_run_follow(counted, launch, &session->counted_status);
	profile_set_fact(session->profile, "counted_wall_s", "%.6f", monotonic_s() - begin);
	if (!error && sampler)
		error = session->sampler_ops->finish(sampler, session->profile);
	return error;
}

/* Times would be those of the tracing: with --once there is none. */
static struct traffic_options choose_traffic(const struct session *session)
{
	struct traffic_options traffic = session->options->traffic;
	traffic.trace = session->counters.choice.traffic == TRAFFIC_FROM_TRACE;
	return traffic;
}

/* One counted run; with --once it is sampled too. */
static struct rf_error *run_counted(struct session *session, int run)
{
	struct sampler *sampler = session->options->once ? create_sampler(session) : NULL;
	struct traffic_options traffic = choose_traffic(session);
	struct counted_run *counted = counted_run_create(session->profile, session->options->once,
							 session->options->no_children, &traffic);
	struct launch launch;
	struct rf_error *error = NULL;
	if (!counted || (session->options->once && !sampler))
		error = rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	if (!error)
		error = start(session, run, sampler, &launch);
	if (!error) {
		error = follow_counted(session, &launch, counted, sampler);
		error = end(session, &launch, error);
		session->counted = !error;
	}
	counted_run_destroy(counted);
	if (sampler)
		session->sampler_ops->destroy(sampler);
	return error;
}

static struct rf_error *run_once(struct session *session)
{
	say(session, "one counted run: the times include the counting");
	struct rf_error *error = run_counted(session, 1);
	session->timed_status = session->counted_status;
	const char *wall = profile_get_fact(session->profile, "counted_wall_s");
	if (error)
		return error;
	char *copy = wall ? strdup(wall) : NULL; /* the fact table may move */
	profile_set_fact(session->profile, "wall_s", "%s", copy ? copy : "0");
	free(copy);
	profile_set_fact(session->profile, "once", "1");
	profile_set_fact(session->profile, "time_source", "counted run (%s)",
			 session->sampler_ops->name);
	return NULL;
}

static void set_status(struct profile *profile, const char *key, int status)
{
	if (WIFSIGNALED(status))
		profile_set_fact(profile, key, "signal %d", WTERMSIG(status));
	else
		profile_set_fact(profile, key, "%d", WEXITSTATUS(status));
}

static void note_sources(struct session *session)
{
	static const char *const words[] = {[WORK_FROM_PMU] = "PMU",
					    [WORK_FROM_COUNTING] = "counted execution",
					    [WORK_FROM_BOTH] = "counted execution and PMU"};
	const struct choice *choice = &session->counters.choice;
	const bool there = session->counted || choice->work == WORK_FROM_PMU;
	profile_set_fact(session->profile, "work_source", "%s",
			 there ? words[choice->work] : "none");
	profile_set_fact(session->profile, "work_why", "%s", choice->why_work);
	if (choice->traffic == TRAFFIC_FROM_TRACE)
		return;
	const bool pmu = choice->traffic == TRAFFIC_FROM_PMU;
	profile_set_fact(session->profile, "traffic_source", pmu ? "PMU" : "none");
	profile_set_fact(session->profile, "traffic_why", "%s",
			 session->options->once ? "--once"
			 : pmu                  ? choice->why_traffic
						: "--traffic=none");
}

static void compare_runs(struct session *session)
{
	static const char *const words[] = {[STDIO_SAME] = "same",
					    [STDIO_DIFFERENT] = "different",
					    [STDIO_UNKNOWN] = "unknown"};
	const char *why = NULL;
	enum stdio_same same = stdio_plan_compare(session->plan, &why);
	struct profile *profile = session->profile;
	if (same == STDIO_UNKNOWN && why)
		profile_set_fact(profile, "stdout_same", "unknown: %s", why);
	else
		profile_set_fact(profile, "stdout_same", "%s", words[same]);
	profile_set_fact(profile, "exit_same", "%s",
			 session->timed_status == session->counted_status ? "same" : "different");
	if (!stdio_plan_input_replayed(session->plan, &why) && why)
		note(session, why);
}

static struct rf_error *run_twice(struct session *session)
{
	const struct choice *choice = &session->counters.choice;
	say(session, !choice->counted_run ? "one run: it is timed, and counted by the PMU"
		     : choice->counters
			     ? "run 1/2 times the program and reads its counters, run 2/2 counts it"
		     : session->counters.why[0]
			     ? "no hardware counters here: run 1/2 times the program, run 2/2 "
			       "counts it"
			     : "run 1/2 times the program, run 2/2 counts it");
	struct rf_error *error = run_timed(session);
	if (error || !choice->counted_run)
		return error;
	if (launch_was_interrupted(session->timed_status)) {
		note(session, "interrupted: the second run, which counts, was left out");
		return NULL;
	}
	error = run_counted(session, 2);
	if (session->counted)
		compare_runs(session);
	if (launch_was_interrupted(session->counted_status))
		profile_set_fact(session->profile, "counts_incomplete", "interrupted in run 2");
	warn(session, error);
	return NULL;
}

/* ---- after the runs ---- */

static void note_threads(struct profile *profile)
{
	char *seen = calloc(profile->n_threads + 1, 1);
	size_t n = 0;
	for (size_t i = 0; seen && i < profile->n_samples; i++)
		if (!seen[profile->samples[i].thread]) {
			seen[profile->samples[i].thread] = 1;
			n++;
		}
	free(seen);
	profile_set_fact(profile, "threads", "%zu", n ? n : (size_t)1);
}

static struct rf_error *write_report(struct session *session)
{
	const struct run_options *options = session->options;
	const bool to_log = !options->output_path && !options->to_stdout;
	struct output_file table;
	struct rf_error *error = output_file_open(&table, options->output_path,
						  options->to_stdout ? stdout : session->log);
	if (error)
		return error;
	struct report_options report = options->report;
	report.saved_as = options->no_save ? NULL : session->save_path;
	error = report_write(session->profile, &report,
			     options->quiet && to_log ? NULL : table.stream);
	return output_file_close(&table, error);
}

/* One line that overwrites itself. */
static void show_fetch(void *context, const char *module, long done, long all)
{
	const struct session *session = context;
	if (session->options->quiet || !isatty(fileno(session->log)))
		return;
	char *name = text_clean(module);
	if (done < 0)
		fprintf(session->log, "\033[K");
	else if (all > 0)
		fprintf(session->log,
			"rfprof: debug information of %s: %.1f of %.1f MB (Ctrl-C ends "
			"this)\033[K\r",
			name ? name : "?", (double)done * 1e-6, (double)all * 1e-6);
	else
		fprintf(session->log,
			"rfprof: debug information of %s: %.1f MB (Ctrl-C ends this)\033[K\r",
			name ? name : "?", (double)done * 1e-6);
	fflush(session->log);
	free(name);
}

static void note_fetched(struct session *session, const struct debuginfod_result *result)
{
	char *trouble = result->trouble ? text_clean(result->trouble) : NULL;
	if (trouble)
		warn(session, rf_error_create(RF_EUNAVAILABLE, NULL, "debuginfod: %s", trouble));
	free(trouble);
	profile_set_fact(session->profile, "debuginfod", "%zu files fetched, %zu not found",
			 result->fetched, result->missing);
	if (!session->options->quiet)
		fprintf(session->log,
			"rfprof: debuginfod: %zu debug file%s fetched, %zu not found\n",
			result->fetched, result->fetched == 1 ? "" : "s", result->missing);
}

static struct rf_error *resolve(struct session *session)
{
	struct debuginfod *debuginfod = NULL;
	struct rf_error *error =
		session->fetches ? debuginfod_create(show_fetch, session, &debuginfod) : NULL;
	warn(session, error);
	error = symbols_resolve_with(session->profile,
				     debuginfod ? debuginfod_fetcher(debuginfod) : NULL);
	if (debuginfod && !error) {
		const struct debuginfod_result result = debuginfod_result(debuginfod);
		note_fetched(session, &result);
	}
	debuginfod_destroy(debuginfod);
	return error;
}

static struct rf_error *finish(struct session *session)
{
	struct profile *profile = session->profile;
	set_status(profile, "exit_status", session->timed_status);
	note_sources(session);
	note_threads(profile);
	if (session->options->no_children)
		profile_set_fact(profile, "no_children", "1");
	struct rf_error *error = profile_match_processes(profile);
	if (error)
		return error;
	/* a limit on file sizes, or nobody who reads the table any more (rfprof ./app | head), is
	 * an error to be told of, not our death before the profile is saved; the program kept its
	 * own way */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	error = resolve(session);
	if (!error && !session->options->no_save)
		error = model_summarise(profile);
	if (error)
		return error;
	struct rf_error *report_error = write_report(session);
	if (!session->options->no_save) {
		error = profile_save(profile, session->save_path);
		if (!error && !session->options->quiet)
			fprintf(session->log, "saved %s · redraw: rfprof report %s\n",
				session->save_path, session->save_path);
	}
	if (report_error && error) {
		rf_error_print(error, session->log);
		rf_error_destroy(error);
	}
	return report_error ? report_error : error;
}

static struct rf_error *run_session(struct session *session)
{
	struct rf_error *error = program_find(session->options->argv[0], &session->path);
	if (!error)
		error = check_output(session);
	if (!error)
		error = choose_sampler(session);
	if (!error)
		error = choose_counters(session);
	if (!error)
		error = measure_machine(session);
	if (error)
		return error;
	note_environment(session);
	choose_debuginfod(session);
	error = session->options->once ? run_once(session) : run_twice(session);
	return error ? error : finish(session);
}

struct rf_error *run_command(const struct run_options *options, int *status)
{
	const char *slash = strrchr(options->argv[0], '/');
	struct session session = {
		.options = options,
		.log = stderr,
		.name = slash && slash[1] ? slash + 1 : options->argv[0],
		.profile = profile_create(),
	};
	/* first of all: it keeps closed descriptors closed */
	struct rf_error *error = stdio_plan_create(&session.plan);
	if (error)
		return error;
	if (options->log_path)
		session.log = fopen(options->log_path, "we");
	if (!session.log)
		error = rf_error_errno(RF_EACCESS, errno, "give another file with --log",
				       "cannot write %s", options->log_path);
	else if (!session.profile)
		error = rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	else
		error = run_session(&session);
	if (session.log && session.log != stderr)
		fclose(session.log);
	stdio_plan_destroy(session.plan);
	profile_destroy(session.profile);
	pmu_plan_deinit(&session.counters);
	free(session.path);
	free(session.save_path);
	*status = session.timed_status;
	return error;
}
