/* `rfprof PROGRAM ARGUMENTS`: checks what was asked for, has the program run, writes the report and
 * saves the profile. */
#include "cli/command.h"

#include "base/clock.h"
#include "base/text.h"
#include "cache/geometry_machine.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/nearest.h"
#include "cli/open_page.h"
#include "cli/output_file.h"
#include "cli/report_request.h"
#include "machine/replay/replay.h"
#include "ranks/rank_path.h"
#include "report/account/account_sums.h"
#include "report/ecm/replays.h"
#include "report/export/export.h"
#include "report/model/model.h"
#include "report/report.h"
#include "report/rows/kernel_sums.h"
#include "tracer/attach/existing.h"
#include "tracer/run/run.h"
#include "tracer/run/run_ranks.h"
#include "tracer/span/duration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SLOWDOWN 1000 /* no code is so much slower with its accesses traced */

/* What was asked for. */
struct request {
	const struct options *given;
	struct rank rank;
	struct run_options run;
	struct geometry other_caches; /* of --other-caches */
	struct report_options report;
	char *save_path;   /* NULL: --no-save */
	unsigned snapshot; /* the number of this one of --every, from 1 on; 0: there is but one */
	bool goes_on;      /* another one can be taken */
	enum profile_name save_name;
};

/* ---- before the runs ---- */

/* What is asked of windows of time; "": nothing, or none of them. */
static const char *slowdown_word(const struct options *given)
{
	return given->slowdown && strcmp(given->slowdown, "none") != 0 ? given->slowdown : "";
}

static bool has_tlb(const struct options *given)
{
	return given->tlb || given->tlb_pages;
}

/* Calls are short: of cold ones all sets are simulated unless fewer are asked for. */
static unsigned cache_sample(const struct options *given)
{
	const bool all = (given->caches != CACHES_AS_IS || given->other_caches || has_tlb(given)) &&
			 !given->cache_sample;
	return all ? 1 : (unsigned)given->cache_sample;
}

static struct rf_error *caches_objection(const struct options *given)
{
	if (has_tlb(given) && (given->traffic == TRAFFIC_PMU || given->traffic == TRAFFIC_NONE))
		return usage_error("a TLB is simulated from traced accesses", "--tlb");
	if (has_tlb(given) && (*slowdown_word(given) || given->cache_sample > 1))
		return usage_error("a TLB has to see all accesses", "--tlb");
	if (given->caches == CACHES_AS_IS)
		return NULL;
	if (!given->kernel)
		return usage_error("caches are emptied or filled at calls of kernels: needs "
				   "--kernel",
				   "--caches");
	return *slowdown_word(given)
		       ? usage_error("--caches=cold and warm trace all accesses", "--slowdown")
		       : NULL;
}

/* Of the caches of another machine: each access is needed, of the whole run. */
static struct rf_error *other_caches_objection(const struct options *given)
{
	const char *const option = "--other-caches";
	if (given->cache_sample > 1 || *slowdown_word(given))
		return usage_error("all accesses are traced, in all sets: goes without "
				   "--cache-sample and --slowdown",
				   option);
	if (given->delay || given->duration || given->start_at || given->stop_at)
		return usage_error("of the whole program: goes without a span", option);
	if (given->traffic == TRAFFIC_PMU || given->traffic == TRAFFIC_NONE ||
	    given->work == WORK_PMU || given->run == RUN_KIND_TIME)
		return usage_error("accesses are traced in the counted run: goes without "
				   "--traffic=pmu and none, --work=pmu and --run=time",
				   option);
	return NULL;
}

static struct rf_error *replay_objection(const struct options *given)
{
	const bool found = given->run == RUN_KIND_BOTH && given->work != WORK_PMU;
	return given->replay && !found
		       ? usage_error("hot loops are found by their time and their counts: goes "
				     "without --run and --work=pmu",
				     "--replay")
		       : NULL;
}

static struct rf_error *take_other_caches(const struct options *given, struct geometry *geometry,
					  struct run_options *options)
{
	if (!given->other_caches)
		return NULL;
	struct rf_error *error =
		other_caches_objection(given) ?: geometry_other(given->other_caches, geometry);
	if (error)
		return error;
	options->traffic.other = geometry;
	if (given->traffic == TRAFFIC_AUTO)
		options->counters.traffic = TRAFFIC_TRACE;
	return NULL;
}

/* --slowdown, as in struct traffic_options. */
static struct rf_error *take_slowdown(const struct options *given, struct traffic_options *traffic)
{
	char *end;
	double *slowdown = &traffic->slowdown;
	const bool all = given->cache_sample || given->caches != CACHES_AS_IS ||
			 given->other_caches || has_tlb(given);
	*slowdown = all ? 0 : TRAFFIC_SLOWDOWN;
	traffic->least_s = given->slowdown ? 0 : TRAFFIC_LEAST_S;
	if (!given->slowdown)
		return NULL;
	*slowdown = 0;
	if (!strcmp(given->slowdown, "none"))
		return NULL;
	*slowdown = strtod(given->slowdown, &end);
	if (end == given->slowdown || *end || !(*slowdown > 1 && *slowdown <= MOST_SLOWDOWN))
		return usage_error("--slowdown: a number above 1, up to 1000, or none is wanted",
				   given->slowdown);
	return NULL;
}

/* The part of the run that is measured. */
static struct rf_error *take_span(const struct options *given, struct span_options *span)
{
	const char *wanted = "a time is wanted, such as 30, 1.5s, 250ms or 1m30s";
	*span = (struct span_options){.start_at = given->start_at, .stop_at = given->stop_at};
	if (given->delay && !duration_parse(given->delay, &span->delay_s))
		return usage_error(wanted, given->delay);
	if (given->duration &&
	    (!duration_parse(given->duration, &span->duration_s) || !(span->duration_s > 0)))
		return usage_error(wanted, given->duration);
	if ((given->delay || given->duration) && (given->start_at || given->stop_at))
		return usage_error("goes without --start-at and --stop-at",
				   given->delay ? "--delay" : "--duration");
	const bool pmu = given->counter || given->work == WORK_PMU || given->work == WORK_BOTH ||
			 given->traffic == TRAFFIC_PMU;
	if (span_is_asked_for(span) && pmu)
		return usage_error("hardware counters count the whole run: not with a span",
				   given->counter ? "--counter" : "pmu");
	return NULL;
}

/* How often there are snapshots; 0: there are none. */
static struct rf_error *take_every(const struct options *given, double *every_s)
{
	*every_s = 0;
	if (given->every && (!duration_parse(given->every, every_s) || !(*every_s > 0)))
		return usage_error("a time is wanted, such as 60, 250ms or 1m30s", given->every);
	return NULL;
}

static struct rf_error *take_run_options(const struct options *given, const char **words,
					 const struct rank *rank, struct run_options *options)
{
	struct geometry geometry;
	*options = (struct run_options){
		.once = given->once,
		.kind = (enum run_kind)given->run,
		.rank = rank,
		.quiet = given->quiet,
		.no_children = given->no_children,
		.repeat = given->repeat ? (unsigned)given->repeat : 1,
		.debuginfod = given->debuginfod,
		.keep_roofs = given->keep_roofs,
		.no_cache = given->no_cache,
		.no_source = given->no_source || given->redact,
		.log_path = given->log,
		.sampler = (enum sampler_option)given->sampler,
		.traffic = {.trace = true,
			    .cache = given->cache,
			    .kernels = given->kernel,
			    .caches_at_calls = (enum caches_at_calls)given->caches,
			    .cache_sample = cache_sample(given),
			    .tlb = has_tlb(given),
			    .cache_prefetch = given->cache_prefetch},
		.counters = {.work = (enum work_option)given->work,
			     .traffic = has_tlb(given) ? TRAFFIC_TRACE
						       : (enum traffic_option)given->traffic,
			     .once = given->once,
			     .named = (const char *const *)given->counter},
		.argv = (char **)words,
	};
	if (given->once && given->counter)
		return usage_error("--once has no native run that it could count", "--counter");
	if (given->once && given->repeat)
		return usage_error("--once has no timed run that it could repeat", "--repeat");
	if (given->run != RUN_KIND_BOTH && (given->once || given->repeat))
		return usage_error("goes without --once and --repeat", "--run");
	if (given->kernel && given->work == WORK_PMU)
		return usage_error("hardware counters do not tell kernels apart", "--kernel");
	if (given->kernel && given->work == WORK_AUTO)
		options->counters.work = WORK_COUNT;
	if (given->save && given->no_save)
		return usage_error("goes without --save", "--no-save");
	struct rf_error *error = caches_objection(given)
					 ?: take_slowdown(given, &options->traffic)
					 ?: take_span(given, &options->span)
					 ?: run_ranks_adjust(given->ranks, options);
	if (error)
		return error;
	const bool is_part = span_is_asked_for(&options->span);
	if (is_part && given->run != RUN_KIND_BOTH)
		return usage_error("two jobs cannot know that they measure the same part", "--run");
	if (is_part && given->kernel && !given->pid)
		return usage_error("calls are of the whole run: goes without a span", "--kernel");
	options->counters.work = is_part ? WORK_COUNT : options->counters.work;
	return given->cache ? geometry_wanted(given->cache, &(struct geometry_known){0}, &geometry)
			    : NULL;
}

static struct rf_error *choose_save_path(struct request *request, const char *program)
{
	const char *path = request->given->save;
	if (request->given->no_save)
		return NULL;
	request->save_name = path ? PROFILE_NAME_GIVEN : PROFILE_NAME_OWN;
	char *name = NULL;
	if (request->snapshot)
		name = output_file_snapshot(path, program, request->snapshot);
	else if (asprintf(&name, path ? "%s" : "rfprof-%s.rfp", path ? path : program) < 0)
		name = NULL;
	if (!name)
		return rf_error_no_memory();
	struct rf_error *error = rank_path(&request->rank, name, true, &request->save_path);
	free(name);
	return error ? error : profile_save_check(request->save_path, request->save_name);
}

/* Files that cannot be written are told of before anything is run. */
static struct rf_error *check_output(struct request *request, const char *program)
{
	const struct options *given = request->given;
	const char *const paths[] = {given->output, given->svg, given->json, given->html};
	struct rf_error *error = choose_save_path(request, program);
	for (size_t k = 0; k < sizeof(paths) / sizeof(paths[0]) && !error; k++)
		error = output_file_check(paths[k]);
	for (size_t k = 0; k < N_EXPORTS && !error; k++)
		error = output_file_check(request->report.exports.of[k]);
	return error ? error : export_check(&request->report.exports);
}

/* ---- after the runs ---- */

static struct rf_error *write_report(const struct request *request, const struct run *run)
{
	const struct options *given = request->given;
	const bool to_log = !given->output && !given->to_stdout;
	struct output_file table;
	struct rf_error *error =
		output_file_open(given->output, given->to_stdout ? stdout : run->log.stream,
				 &table);
	if (error)
		return error;
	struct report_options report = request->report;
	report.saved_as = given->save || !request->save_path ? request->save_path : "";
	const bool is_silent = (given->quiet && to_log) || request->snapshot;
	report.progress = given->quiet || request->snapshot ? NULL : run->log.stream;
	error = report_write(run->profile, &report, is_silent ? NULL : table.stream);
	if (!error && request->given->open_page)
		open_page(report.html_path, run->log.stream);
	return output_file_close(&table, error);
}

/* Ends saving, which an error of before ends, too. */
static struct rf_error *save(const struct request *request, const struct run *run,
			     struct profile_saving *saving, struct rf_error *error)
{
	const char *path = request->save_path;
	const struct rank *rank = &request->rank;
	error = saving ? profile_saving_end(saving, error) : error;
	if (path && !error && !request->given->quiet) {
		fputs("saved ", run->log.stream);
		text_write_path(run->log.stream, path);
		fputc('\n', run->log.stream);
		if (rank->known && rank->size > 1)
			fprintf(run->log.stream,
				"rank %d of %d; all together, when all have ended: rfprof report "
				"and the directory\n",
				rank->number, rank->size);
	}
	return error;
}

/* The report is written while the profile is saved, which it is also where the report cannot be
 * written. */
static struct rf_error *report_and_save(const struct request *request, const struct run *run)
{
	const char *path = request->save_path;
	struct profile_saving *saving = NULL;
	struct rf_error *save_error =
		path ? profile_saving_start(run->profile, path, request->save_name, &saving) : NULL;
	struct rf_error *error = path ? model_summarise(run->profile) : NULL;
	if (error) {
		rf_error_destroy(save_error);
		return save(request, run, saving, error);
	}
	if (saving)
		profile_saving_has_sums(saving);
	error = write_report(request, run);
	save_error = save(request, run, saving, save_error);
	if (!error)
		return save_error;
	if (save_error)
		rf_error_print(save_error, run->log.stream);
	rf_error_destroy(save_error);
	return error;
}

static struct rf_error *summarise(const struct request *request, const struct run *run)
{
	struct rf_error *error = request->given->redact ? profile_redact(run->profile) : NULL;
	profile_clean_texts(run->profile);
	return error ?: account_summarise(run->profile) ?: kernel_sums(run->profile);
}

/* Of a run that goes on, under the name that the whole profile will have. */
static struct rf_error *save_snapshot(void *context, struct run *run)
{
	const struct request *request = context;
	struct rf_error *error = summarise(request, run) ?: model_summarise(run->profile);
	return error ? error : profile_save(run->profile, request->save_path);
}

/* The limits that are too low for a report are meant for the program (ulimit -d): it ends as it
 * would have ended without rfprof. */
static struct rf_error *end_without_report(const struct run *run, struct rf_error *error)
{
	if (!error || !run || !run->has_ended || !run_is_shortage(error))
		return error;
	rf_error_print(error, stderr);
	rf_error_destroy(error);
	return NULL;
}

/* There is no such program; perhaps a command was meant.  Takes the error. */
static struct rf_error *suggest_command(const char *word, struct rf_error *error)
{
	struct nearest nearest = nearest_to(word);
	char hint[128];
	for (enum command_id id = 0; id < N_COMMANDS; id++)
		if (command_rows[id].word)
			nearest_offer(&nearest, command_rows[id].word);
	if (!nearest.word || strchr(word, '/'))
		return error;
	snprintf(hint, sizeof(hint), "did you mean rfprof %s? Else give a path such as ./program",
		 nearest.word);
	struct rf_error *better = rf_error_create(error->code, hint, "%s", error->message);
	rf_error_destroy(error);
	return better;
}

/* What goes with a process that runs already. */
static struct rf_error *check_attach(const struct options *given, const char **words)
{
	const struct {
		bool is_given;
		const char *name;
	} refused[] = {{given->once, "--once"},
		       {given->repeat, "--repeat"},
		       {given->counter, "--counter"},
		       {given->delay, "--delay"},
		       {given->start_at, "--start-at"},
		       {given->stop_at, "--stop-at"},
		       {given->work, "--work"},
		       {given->traffic, "--traffic"},
		       {given->caches != CACHES_AS_IS, "--caches"},
		       {given->replay, "--replay"},
		       {given->other_caches, "--other-caches"}};
	if (*words)
		return usage_error("a process that runs already or a program, not both", *words);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].is_given)
			return usage_error("goes without --pid, which counts nothing",
					   refused[i].name);
	if (given->sampler == SAMPLER_TIMER)
		return usage_error("nothing can be preloaded into a process that runs", "timer");
	return NULL;
}

static struct rf_error *run_and_report(struct request *request, int *status)
{
	struct run *run = NULL;
	struct rf_error *error = run_create(&request->run, &run);
	if (error && error->code == RF_EINPUT)
		error = suggest_command(request->run.argv[0], error);
	if (!error)
		error = check_output(request, run->name);
	if (!error)
		error = run_program(run);
	if (!error)
		error = summarise(request, run);
	if (!error && request->given->replay)
		error = replays_take(run->profile, replay_loop);
	if (!error)
		error = report_and_save(request, run);
	error = end_without_report(run, error);
	if (!error)
		*status = run->timed_status;
	request->goes_on = !error && run->goes_on;
	run_destroy(run);
	free(request->save_path);
	request->save_path = NULL;
	return error;
}

/* One profile after the other, of `every_s` each, until the process ends, or rfprof is interrupted,
 * or
 * --duration is over. */
static struct rf_error *take_snapshots(struct request *request, double every_s, int *status)
{
	const double all_s = request->run.span.duration_s;
	const uint64_t start = clock_now_ns();
	struct rf_error *error = NULL;
	do {
		const double left_s = all_s - (double)(clock_now_ns() - start) * 1e-9;
		if (all_s > 0 && left_s <= 0)
			break;
		request->run.span.duration_s = all_s > 0 && left_s < every_s ? left_s : every_s;
		request->snapshot++;
		error = run_and_report(request, status);
	} while (request->goes_on && !error);
	/* it has ended while the last one was saved */
	if (error && error->code == RF_EINPUT && request->snapshot > 1) {
		rf_error_destroy(error);
		error = NULL;
	}
	return error;
}

/* Measures the process --pid as if it had been started by its own command line. */
static struct rf_error *attach_and_report(struct request *request, int *status)
{
	const pid_t pid = request->given->pid;
	double every_s = 0;
	struct rf_error *error = take_every(request->given, &every_s);
	if (error)
		return error;
	char **command = existing_command(pid);
	if (!command)
		return rf_error_errno(RF_EINPUT, errno,
				      "see ps -e; threads of the kernel have no command",
				      "there is no process %d with a command line that can be read",
				      (int)pid);
	request->run.pid = pid;
	request->run.argv = command;
	request->run.counters.work = WORK_COUNT;
	request->run.counters.traffic = TRAFFIC_NONE;
	error = every_s > 0 ? take_snapshots(request, every_s, status)
			    : run_and_report(request, status);
	free(command);
	return error;
}

/* ---- ranks ---- */

enum { N_FILES = 5 + N_EXPORTS };

static void list_files(struct options *given, char **files[static N_FILES])
{
	size_t n = 0;
	files[n++] = &given->log;
	files[n++] = &given->output;
	files[n++] = &given->svg;
	files[n++] = &given->json;
	files[n++] = &given->html;
#define EXPORT(name, ...) files[n++] = &given->export_##name;
#include "report/rows/export_formats.def"
#undef EXPORT
}

/* Files that only one rank may write are rank 0's; each rank writes those with %r in their names,
 * and its log.  The names are then to be freed. */
static struct rf_error *take_own_files(const struct rank *rank, struct options *given)
{
	char **files[N_FILES];
	struct rf_error *error = NULL;
	list_files(given, files);
	for (size_t i = 0; i < N_FILES; i++) {
		char *name = *files[i];
		const bool is_log = files[i] == &given->log;
		*files[i] = NULL;
		if (!error && (rank->number == 0 || rank_path_is_own(name) || is_log))
			error = rank_path(rank, name, is_log, files[i]);
	}
	given->to_stdout &= rank->number == 0;
	given->open_page &= rank->number == 0;
	given->quiet |= rank->number != 0;
	return error;
}

static void free_files(struct options *given)
{
	char **files[N_FILES];
	list_files(given, files);
	for (size_t i = 0; i < N_FILES; i++)
		free(*files[i]);
}

/* Snapshots of a program that is started. */
static struct rf_error *check_every(struct request *request)
{
	const struct options *given = request->given;
	const struct {
		bool is_given;
		const char *name;
	} refused[] = {{request->run.once, "--once"},
		       {given->repeat, "--repeat"},
		       {request->run.kind == RUN_KIND_COUNT, "--run=count"},
		       {span_is_asked_for(&request->run.span), "a span"},
		       {given->no_save, "--no-save"}};
	if (!given->every)
		return NULL;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (refused[i].is_given)
			return usage_error("goes without --every, which saves the timed run so far",
					   refused[i].name);
	request->run.save_snapshot = save_snapshot;
	request->run.snapshot_context = request;
	return take_every(given, &request->run.every_s);
}

static struct rf_error *run_as_asked(struct request *request, const char **words, int *status)
{
	const struct options *given = request->given;
	struct rf_error *error = report_request(given, &request->report);
	if (!error)
		error = take_run_options(given, words, &request->rank, &request->run);
	if (!error)
		error = take_other_caches(given, &request->other_caches, &request->run);
	if (!error && given->tlb_pages &&
	    !tlb_pages_parse(given->tlb_pages, request->run.traffic.tlb_pages))
		error = usage_error("two numbers of pages are wanted, such as 64:1536, the second "
				    "one larger, up to 1048576",
				    given->tlb_pages);
	if (error)
		return error;
	if (given->version) {
		puts("rfprof " RFPROF_VERSION);
		return NULL;
	}
	if (given->pid)
		return check_attach(given, words) ?: attach_and_report(request, status);
	error = check_every(request) ?: replay_objection(given);
	if (!error && !*words)
		error = rf_error_create(RF_EINPUT,
					"usage: rfprof PROGRAM [ARGUMENTS]; see rfprof --help",
					"no program is named");
	return error ?: run_and_report(request, status);
}

struct rf_error *run_command(const struct options *asked, const char **words, int *status)
{
	struct options given = *asked;
	struct request request = {.given = &given};
	rank_read(&request.rank);
	const bool known = request.rank.known;
	struct rf_error *error = known ? take_own_files(&request.rank, &given) : NULL;
	error = error ?: run_as_asked(&request, words, status);
	if (known)
		free_files(&given);
	return error;
}
