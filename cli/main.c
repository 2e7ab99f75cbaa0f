/* The command line. */
#include "cache/geometry.h"
#include "cli/diff_command.h"
#include "cli/doctor_command.h"
#include "cli/machine_command.h"
#include "cli/output_file.h"
#include "cli/run_command.h"
#include "report/export/export.h"
#include "report/report.h"
#include "report/rows/filter.h"
#include "tracer/launch/launch.h"

#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define EXIT_TROUBLE 2   /* rfprof's own failures */
#define EXIT_CONDITION 3 /* a condition of rfprof diff --fail-on is met */

/* What the options of a command line are read into; static, because popt's tables are. */
static struct {
	int once, quiet, no_save, no_children, to_stdout, refresh, quick, json, version, top,
		cache_sample, sample_given, cache_prefetch, levels, plot, ascii, width, width_given,
		debuginfod;
	char *save_path, *log_path, *sampler, *sort, *svg_path, *json_path, *output_path, *threads,
		*import_path, *forget, *processes, *traffic, *cache, *level, *direction, *html_path,
		*html_compare, *work, *by, *focus, *ignore, *min, *color, *function,
		*exports[N_EXPORTS], **fail_on, **counters;
} given;

static struct poptOption report_table[] = {
	{"top", 0, POPT_ARG_INT, &given.top, 't', "show the first N functions (default 20)", "N"},
	{"sort", 0, POPT_ARG_STRING, &given.sort, 0,
	 "rank by headroom (default), distance, time, flops, bytes or name", "KEY"},
	{"by", 0, POPT_ARG_STRING, &given.by, 0,
	 "what a row is: function (default), inlined, loop, line, module, thread, process or "
	 "call-path",
	 "WHAT"},
	{"focus", 0, POPT_ARG_STRING, &given.focus, 0,
	 "only rows, functions and modules that match", "REGEX"},
	{"ignore", 0, POPT_ARG_STRING, &given.ignore, 0,
	 "without rows, functions and modules that match", "REGEX"},
	{"min", 0, POPT_ARG_STRING, &given.min, 0,
	 "sum up the rows with less than that share of the time", "SHARE%"},
	{"function", 'f', POPT_ARG_STRING, &given.function, 0,
	 "a page about one function: why it is below its roof, and what to try", "NAME"},
	{"plot", 0, POPT_ARG_NONE, &given.plot, 0, "draw the roofline in the terminal", NULL},
	{"color", 0, POPT_ARG_STRING, &given.color, 0, "auto (default), always or never", "WHEN"},
	{"ascii", 0, POPT_ARG_NONE, &given.ascii, 0, "write nothing but ASCII", NULL},
	{"width", 0, POPT_ARG_INT, &given.width, 'w',
	 "fit the table to N columns (default: the terminal's)", "N"},
	{"processes", 0, POPT_ARG_STRING, &given.processes, 0,
	 "merge (default): one table for all processes; tree: one for each", "HOW"},
	{"levels", 0, POPT_ARG_NONE, &given.levels, 0,
	 "show what moved at every level of the memory hierarchy", NULL},
	{"level", 0, POPT_ARG_STRING, &given.level, 0,
	 "place and rank by the traffic of L1, L2, L3 or DRAM (default: the level that binds)",
	 "LEVEL"},
	{"direction", 0, POPT_ARG_STRING, &given.direction, 0,
	 "place by what is read or by what is written alone: read, write, both (default)", "WHICH"},
	{"svg", 0, POPT_ARG_STRING, &given.svg_path, 0, "draw the roofline plot", "FILE"},
	{"json", 0, POPT_ARG_STRING, &given.json_path, 0, "write everything as JSON", "FILE"},
	{"html", 0, POPT_ARG_STRING, &given.html_path, 0,
	 "write a page with everything, for a browser", "FILE"},
	{"html-compare", 0, POPT_ARG_STRING, &given.html_compare, 0,
	 "compare with this profile, an earlier one, in the page of --html", "PROFILE"},
#define EXPORT(name, writer, check, help) \
	{#name, 0, POPT_ARG_STRING, &given.exports[EXPORT_##name], 0, help, "FILE"},
#include "report/rows/export_formats.def"
#undef EXPORT
	{"output", 'o', POPT_ARG_STRING, &given.output_path, 0, "write the table to FILE", "FILE"},
	{"stdout", 0, POPT_ARG_NONE, &given.to_stdout, 0, "write the table to standard output",
	 NULL},
	POPT_TABLEEND,
};

static struct poptOption run_table[] = {
	{"once", 0, POPT_ARG_NONE, &given.once, 0,
	 "run the program only once, counted; the times include the counting", NULL},
	{"no-children", 0, POPT_ARG_NONE, &given.no_children, 0,
	 "time and count only PROGRAM itself, not the processes that it starts", NULL},
	{"debuginfod", 0, POPT_ARG_NONE, &given.debuginfod, 0,
	 "fetch debug information that is not here from the servers of DEBUGINFOD_URLS, after the "
	 "run",
	 NULL},
	{"quiet", 'q', POPT_ARG_NONE, &given.quiet, 0, "say nothing but errors", NULL},
	{"no-save", 0, POPT_ARG_NONE, &given.no_save, 0, "save no profile", NULL},
	{"save", 0, POPT_ARG_STRING, &given.save_path, 0,
	 "save the profile as FILE (default rfprof-PROGRAM.rfp)", "FILE"},
	{"log", 0, POPT_ARG_STRING, &given.log_path, 0,
	 "write messages and table to FILE, not to standard error", "FILE"},
	{"sampler", 0, POPT_ARG_STRING, &given.sampler, 0,
	 "take the times from perf (perf_event_open) or timer (preloaded timers); default auto",
	 "NAME"},
	{"work", 0, POPT_ARG_STRING, &given.work, 0,
	 "count work by the PMU (pmu), by translation (count), by both, or by what is there and "
	 "complete (auto, "
	 "default)",
	 "HOW"},
	{"traffic", 0, POPT_ARG_STRING, &given.traffic, 0,
	 "find what moves between caches and memory by simulation (trace), by the PMU (pmu), by "
	 "what is there and "
	 "complete (auto, default), or not at all (none)",
	 "HOW"},
	{"counter", 0, POPT_ARG_ARGV, &given.counters, 0,
	 "count this event of libpfm4 too, as QUANTITY=EVENT[*MULTIPLIER][@PERIOD]; can be given "
	 "several times",
	 "EVENT"},
	{"cache", 0, POPT_ARG_STRING, &given.cache, 0,
	 "simulate these caches, such as L1=48K:12,L2=2M:16,L3=32M:16, or those that a file "
	 "describes; "
	 "default: this machine's",
	 "CACHES"},
	{"cache-sample", 0, POPT_ARG_INT, &given.cache_sample, 's',
	 "simulate one in N of the cache sets (1 to 64; 1: all of them); default: 4, or up to 32 "
	 "when that is too slow",
	 "N"},
	{"cache-prefetch", 0, POPT_ARG_NONE, &given.cache_prefetch, 0,
	 "simulate a prefetch of the next line at each miss", NULL},
	{"version", 0, POPT_ARG_NONE, &given.version, 0, "print the version", NULL},
	{NULL, 0, POPT_ARG_INCLUDE_TABLE, report_table, 0, "The report:", NULL},
	POPT_AUTOHELP POPT_TABLEEND,
};

static struct poptOption redraw_table[] = {
	{NULL, 0, POPT_ARG_INCLUDE_TABLE, report_table, 0, "The report:", NULL},
	POPT_AUTOHELP POPT_TABLEEND,
};

static struct poptOption machine_table[] = {
	{"refresh", 0, POPT_ARG_NONE, &given.refresh, 0, "measure again", NULL},
	{"quick", 0, POPT_ARG_NONE, &given.quick, 0, "measure only what reports draw", NULL},
	{"threads", 0, POPT_ARG_STRING, &given.threads, 0,
	 "measure with these numbers of threads, such as 1,2,4-8", "LIST"},
	{"json", 0, POPT_ARG_NONE, &given.json, 0, "write JSON instead of the table", NULL},
	{"svg", 0, POPT_ARG_STRING, &given.svg_path, 0, "draw the empty roofline plot, too",
	 "FILE"},
	{"import", 0, POPT_ARG_STRING, &given.import_path, 0,
	 "keep the roofs of FILE, or of another machine's --json, to be drawn", "FILE"},
	{"forget", 0, POPT_ARG_STRING, &given.forget, 0, "remove an imported roof, or all", "NAME"},
	POPT_AUTOHELP POPT_TABLEEND,
};

static struct poptOption diff_table[] = {
	{"top", 0, POPT_ARG_INT, &given.top, 't',
	 "show the N functions that changed most (default 20)", "N"},
	{"fail-on", 0, POPT_ARG_ARGV, &given.fail_on, 0,
	 "exit with status 3 when this holds, such as time>5%; may be given several times",
	 "CONDITION"},
	{"svg", 0, POPT_ARG_STRING, &given.svg_path, 0,
	 "draw both in one roofline plot, with arrows", "FILE"},
	{"json", 0, POPT_ARG_STRING, &given.json_path, 0, "write the comparison as JSON", "FILE"},
	{"output", 'o', POPT_ARG_STRING, &given.output_path, 0, "write the table to FILE", "FILE"},
	POPT_AUTOHELP POPT_TABLEEND,
};

static struct poptOption doctor_table[] = {
	{"json", 0, POPT_ARG_NONE, &given.json, 0, "write JSON instead of the table", NULL},
	POPT_AUTOHELP POPT_TABLEEND,
};

static struct rf_error *usage_error(const char *what, const char *word)
{
	return rf_error_create(RF_EINPUT, "rfprof --help lists the options", "%s: %s", word, what);
}

/* Reads the options; *words gets what is left, valid as long as the context. */
static struct rf_error *read_options(poptContext context, const char ***words)
{
	int key;
	bool top_given = false;
	while ((key = poptGetNextOpt(context)) > 0) {
		top_given |= key == 't';
		given.sample_given |= key == 's';
		given.width_given |= key == 'w';
	}
	if (key < -1)
		return usage_error(poptStrerror(key),
				   poptBadOption(context, POPT_BADOPTION_NOALIAS));
	if (top_given && given.top < 1)
		return usage_error("a number from 1 on is wanted", "--top");
	*words = poptGetArgs(context);
	return NULL;
}

static struct rf_error *report_options(struct report_options *options)
{
	*options = (struct report_options){
		.top = (size_t)given.top,
		.levels = given.levels,
		.focus = given.focus,
		.ignore = given.ignore,
		.function = given.function,
		.plot = given.plot,
		.ascii = given.ascii,
		.width = (size_t)given.width,
		.svg_path = given.svg_path,
		.json_path = given.json_path,
		.html_path = given.html_path,
		.html_compare = given.html_compare,
	};
	memcpy(options->exports.of, given.exports, sizeof(given.exports));
	if (report_stdout_files(options) + (given.to_stdout != 0) > 1)
		return usage_error("only one thing can go to standard output",
				   given.to_stdout ? "--stdout" : "-");
	if (given.html_compare && !given.html_path)
		return usage_error("--html-compare is about the page of --html",
				   given.html_compare);
	if (given.sort && !report_sort_parse(given.sort, &options->sort))
		return usage_error("--sort takes headroom, distance, time, flops, bytes or name",
				   given.sort);
	if (given.by && !report_by_parse(given.by, &options->by))
		return usage_error("--by takes function, inlined, loop, line, module, thread, "
				   "process or call-path",
				   given.by);
	if (given.color && !report_color_parse(given.color, &options->color))
		return usage_error("--color takes auto, always or never", given.color);
	if (given.min && !report_share_parse(given.min, &options->min_share))
		return usage_error("--min takes a share of the time, such as 2%", given.min);
	if (given.width_given && (given.width < 40 || given.width > 10000))
		return usage_error("a number from 40 to 10000 is wanted", "--width");
	struct rf_error *error = report_pattern_check("--focus", given.focus);
	if (!error)
		error = report_pattern_check("--ignore", given.ignore);
	if (error)
		return error;
	if (given.processes && !report_processes_parse(given.processes, &options->processes))
		return usage_error("--processes takes merge or tree", given.processes);
	if (given.level && !(options->level = report_level_parse(given.level)))
		return usage_error("--level takes L1, L2, L3 or DRAM", given.level);
	if (options->processes == PROCESSES_TREE &&
	    (options->by != BY_FUNCTION || given.focus || given.ignore || given.min))
		return usage_error("goes without --by, --focus, --ignore and --min",
				   "--processes=tree");
	if (given.direction && !report_direction_parse(given.direction, &options->direction))
		return usage_error("--direction takes read, write or both", given.direction);
	return report_shape_check(options);
}

/* ---- rfprof PROGRAM ---- */

static struct rf_error *traffic_options(struct traffic_options *traffic)
{
	*traffic = (struct traffic_options){
		.trace = true,
		.cache = given.cache,
		.cache_sample = (unsigned)given.cache_sample,
		.cache_prefetch = given.cache_prefetch,
	};
	if (given.sample_given && (given.cache_sample < 1 || given.cache_sample > CACHE_CLASSES))
		return usage_error("a number from 1 to 64 is wanted", "--cache-sample");
	struct geometry geometry;
	return given.cache ? geometry_given(given.cache, &geometry) : NULL;
}

static struct rf_error *counter_options(struct pmu_options *counters)
{
	*counters = (struct pmu_options){.once = given.once,
					 .named = (const char *const *)given.counters};
	if (given.work && !pmu_work_parse(given.work, &counters->work))
		return usage_error("--work takes auto, pmu, count or both", given.work);
	if (given.traffic && !pmu_traffic_parse(given.traffic, &counters->traffic))
		return usage_error("--traffic takes auto, pmu, trace or none", given.traffic);
	if (given.once && given.counters)
		return usage_error("--once has no native run that it could count", "--counter");
	return NULL;
}

static struct rf_error *command_run(poptContext context, int *status)
{
	const char **words = NULL;
	struct run_options run = {.sampler = "auto"};
	struct rf_error *error = read_options(context, &words);
	if (!error)
		error = report_options(&run.report);
	if (!error)
		error = traffic_options(&run.traffic);
	if (!error)
		error = counter_options(&run.counters);
	if (error)
		return error;
	if (given.version) {
		puts("rfprof " RFPROF_VERSION);
		return NULL;
	}
	if (!words || !*words)
		return rf_error_create(RF_EINPUT,
				       "usage: rfprof PROGRAM [ARGUMENTS]; see rfprof --help",
				       "no program is named");
	if (given.sampler)
		run.sampler = given.sampler;
	if (strcmp(run.sampler, "auto") && strcmp(run.sampler, "perf") &&
	    strcmp(run.sampler, "timer"))
		return usage_error("--sampler takes auto, perf or timer", run.sampler);
	run.once = given.once;
	run.quiet = given.quiet;
	run.no_save = given.no_save;
	run.no_children = given.no_children;
	run.debuginfod = given.debuginfod;
	run.to_stdout = given.to_stdout;
	run.save_path = given.save_path;
	run.log_path = given.log_path;
	run.output_path = given.output_path;
	run.argv = (char **)words;
	return run_command(&run, status);
}

/* ---- rfprof report ---- */

static struct rf_error *command_report(poptContext context)
{
	const char **words = NULL;
	struct report_options options;
	struct profile *profile = NULL;
	struct output_file table;
	struct rf_error *error = read_options(context, &words);
	if (!error)
		error = report_options(&options);
	if (error)
		return error;
	if (!words || !words[0] || words[1])
		return rf_error_create(RF_EINPUT, "try rfprof report rfprof-PROGRAM.rfp",
				       "one profile is wanted");
	options.saved_as = words[0];
	error = export_check(&options.exports);
	if (!error)
		error = report_from_sums(&options) ? profile_load_sums(words[0], &profile)
						   : profile_load(words[0], &profile);
	if (error)
		return error;
	error = output_file_open(&table, given.output_path, stdout);
	if (!error) {
		const bool other =
			report_stdout_files(&options) && !given.output_path && !given.to_stdout;
		error = report_write(profile, &options, other ? NULL : table.stream);
		error = output_file_close(&table, error);
	}
	profile_destroy(profile);
	return error;
}

/* ---- rfprof machine ---- */

static struct rf_error *command_machine(poptContext context)
{
	const char **words = NULL;
	struct rf_error *error = read_options(context, &words);
	if (error)
		return error;
	if (words && *words)
		return usage_error("rfprof machine takes no argument", *words);
	if (given.svg_path && strcmp(given.svg_path, "-") == 0)
		return usage_error("the table goes to standard output", "--svg -");
	return machine_command(&(struct machine_command){
		.refresh = given.refresh,
		.quick = given.quick,
		.json = given.json,
		.threads = given.threads,
		.svg_path = given.svg_path,
		.import_path = given.import_path,
		.forget = given.forget,
	});
}

/* ---- rfprof diff ---- */

/* *status: a wait status. */
static struct rf_error *command_diff(poptContext context, int *status)
{
	const char **words = NULL;
	bool failed = false;
	struct rf_error *error = read_options(context, &words);
	if (error)
		return error;
	if (!words || !words[0] || !words[1] || words[2])
		return rf_error_create(RF_EINPUT, "try rfprof diff before.rfp after.rfp",
				       "two profiles are wanted");
	error = diff_command(
		&(struct diff_command){
			.paths = {words[0], words[1]},
			.top = (size_t)given.top,
			.fail_on = (const char *const *)given.fail_on,
			.svg_path = given.svg_path,
			.json_path = given.json_path,
			.output_path = given.output_path,
		},
		&failed);
	*status = failed ? W_EXITCODE(EXIT_CONDITION, 0) : 0;
	return error;
}

/* ---- rfprof doctor ---- */

/* *status: 1 when a default run would lack something. */
static struct rf_error *command_doctor(poptContext context, int *status)
{
	const char **words = NULL;
	bool possible = false;
	struct rf_error *error = read_options(context, &words);
	if (error)
		return error;
	if (words && *words)
		return usage_error("rfprof doctor takes no argument", *words);
	error = doctor_command(given.json, &possible);
	*status = W_EXITCODE(possible ? 0 : 1, 0);
	return error;
}

/* ---- choice of the command ---- */

static const struct command {
	const char *name; /* NULL: rfprof PROGRAM */
	const char *help_name, *arguments;
	struct poptOption *table;
} commands[] = {
	{"report", "rfprof report", "[OPTIONS] FILE", redraw_table},
	{"machine", "rfprof machine", "[OPTIONS]", machine_table},
	{"diff", "rfprof diff", "[OPTIONS] A B", diff_table},
	{"doctor", "rfprof doctor", "[OPTIONS]", doctor_table},
	{NULL, "rfprof",
	 "[OPTIONS] PROGRAM [ARGUMENTS] | report FILE | diff A B | machine | doctor", run_table},
};

int main(int argc, char **argv)
{
	const struct command *command = commands;
	while (command->name && (argc < 2 || strcmp(argv[1], command->name) != 0))
		command++;
	const int shift = command->name ? 1 : 0;
	argv[shift] = (char *)command->help_name;
	poptContext context =
		poptGetContext(command->help_name, argc - shift, (const char **)argv + shift,
			       command->table, POPT_CONTEXT_POSIXMEHARDER * !shift);
	int status = 0;
	poptSetOtherOptionHelp(context, command->arguments);
	struct rf_error *error = command->table == redraw_table    ? command_report(context)
				 : command->table == machine_table ? command_machine(context)
				 : command->table == diff_table    ? command_diff(context, &status)
				 : command->table == doctor_table ? command_doctor(context, &status)
								  : command_run(context, &status);
	poptFreeContext(context);
	if (!error)
		launch_end_like(status);
	rf_error_print(error, stderr);
	rf_error_destroy(error);
	return EXIT_TROUBLE;
}
