/* The words of the command line for what a report is asked for, and what goes together. */
#include "report/rows/report_options.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct rf_word report_sort_words[] = {{"headroom", SORT_HEADROOM},
					    {"distance", SORT_DISTANCE},
					    {"time", SORT_TIME},
					    {"flops", SORT_FLOPS},
					    {"bytes", SORT_BYTES},
					    {"name", SORT_NAME},
					    {NULL, 0}};

const struct rf_word report_by_words[] = {
	{"function", BY_FUNCTION},
	{"inlined", BY_INLINED},
	{"loop", BY_LOOP},
	{"line", BY_LINE},
	{"module", BY_MODULE},
	{"thread", BY_THREAD},
	{"process", BY_PROCESS},
	{"call-path", BY_CALL_PATH},
	{"python", BY_PYTHON},
	{"kernel", BY_KERNEL},
	{"group", BY_GROUP},
	{"wait", BY_WAIT},
	{NULL, 0},
};

const struct rf_word report_color_words[] = {
	{"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}, {NULL, 0}};

const struct rf_word report_processes_words[] = {{"merge", PROCESSES_MERGED},
						 {"tree", PROCESSES_TREE},
						 {NULL, 0}};

const struct rf_word report_direction_words[] = {
	{"read", DIRECTION_READ}, {"write", DIRECTION_WRITE}, {"both", DIRECTION_BOTH}, {NULL, 0}};

const struct rf_word report_level_words[] = {
	{"L1", 1}, {"L2", 2}, {"L3", 3}, {"DRAM", 4}, {NULL, 0}};

bool report_share_parse(const char *word, double *share)
{
	char *end;
	const double value = strtod(word, &end);
	const bool number = end != word;
	end += strspn(end, " ");
	end += *end == '%';
	if (!number || *end || !(value >= 0 && value <= 100))
		return false;
	*share = value / 100;
	return true;
}

/* ---- what goes together ---- */

static const char *const export_names[] = {
#define EXPORT(name, writer, check, help) [EXPORT_##name] = "--" #name,
#include "report/rows/export_formats.def"
#undef EXPORT
};

bool report_is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

size_t report_stdout_files(const struct report_options *options)
{
	size_t n = report_is_stdout(options->svg_path) + report_is_stdout(options->json_path) +
		   report_is_stdout(options->html_path);
	for (size_t i = 0; i < N_EXPORTS; i++)
		n += report_is_stdout(options->exports.of[i]);
	return n;
}

bool report_is_shaped(const struct report_options *options)
{
	const bool whole = options->by == BY_FUNCTION || options->by == BY_WAIT ||
			   options->by == BY_GROUP || options->by == BY_PYTHON;
	return !whole || options->focus || options->ignore || options->min_share > 0;
}

/* Its table, and the list in JSON, are all that shows it. */
static struct rf_error *check_python(const struct report_options *options)
{
	if (options->focus || options->ignore || options->min_share > 0)
		return rf_error_create(RF_EINPUT, "--json has all Python functions",
				       "--focus, --ignore and --min are not about --by=python");
	for (size_t i = 0; i < N_EXPORTS; i++)
		if (options->exports.of[i])
			return rf_error_create(RF_EINPUT, "--json has all Python functions",
					       "%s has no --by=python", export_names[i]);
	if (options->svg_path || options->html_path)
		return rf_error_create(RF_EINPUT, "--json has all Python functions",
				       "%s has no --by=python",
				       options->svg_path ? "--svg" : "--html");
	return NULL;
}

struct rf_error *report_shape_check(const struct report_options *options)
{
	const char *refused = options->html_path ? "--html" : NULL;
	if (options->by == BY_PYTHON)
		return check_python(options);
	if (!report_is_shaped(options))
		return NULL;
	for (size_t i = 0; i < N_EXPORTS; i++)
		if (options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png)
			refused = export_names[i];
	if (refused)
		return rf_error_create(
			RF_EINPUT,
			"write it without them, by a command of its own; what shows it has filters "
			"of "
			"its own",
			"%s has all of the program: --by, --focus, --ignore and --min are not "
			"about it",
			refused);
	const char *placed = options->json_path                ? "--json"
			     : options->svg_path               ? "--svg"
			     : options->exports.of[EXPORT_csv] ? "--csv"
			     : options->exports.of[EXPORT_png] ? "--png"
							       : NULL;
	if (placed && options->by == BY_CALL_PATH)
		return rf_error_create(
			RF_EINPUT, "--folded and --pprof have the time of call paths",
			"%s has no --by=call-path: work is counted by function, not by path",
			placed);
	return NULL;
}

bool report_has_accounts(const struct report_options *options)
{
	return options->json_path || options->html_path || options->function || options->ecm;
}

bool report_from_sums(const struct report_options *options)
{
	bool details = report_has_accounts(options) || report_is_shaped(options) ||
		       options->by == BY_PYTHON || options->processes == PROCESSES_TREE;
	for (size_t i = 0; i < N_EXPORTS; i++)
		details |= options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png;
	return !details;
}

bool report_has_lines(const struct report_options *options)
{
	return options->function || options->html_path || options->by == BY_LINE ||
	       options->by == BY_LOOP;
}
