/* The words of the command line for what a report is asked for, and what goes together. */
#include "report/rows/report_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- words ---- */

static const char *const sort_words[] = {
	[SORT_HEADROOM] = "headroom", [SORT_DISTANCE] = "distance", [SORT_TIME] = "time",
	[SORT_FLOPS] = "flops",       [SORT_BYTES] = "bytes",       [SORT_NAME] = "name",
};
static const char *const by_words[] = {
	[BY_FUNCTION] = "function",   [BY_LOOP] = "loop",       [BY_LINE] = "line",
	[BY_MODULE] = "module",       [BY_THREAD] = "thread",   [BY_PROCESS] = "process",
	[BY_CALL_PATH] = "call-path", [BY_INLINED] = "inlined",
};
static const char *const color_words[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never"};
static const char *const processes_words[] = {
	[PROCESSES_MERGED] = "merge", [PROCESSES_TREE] = "tree"};
static const char *const direction_words[] = {
	[DIRECTION_BOTH] = "both", [DIRECTION_READ] = "read", [DIRECTION_WRITE] = "write"};

/* *found is the word's place among `words`; untouched where it is none of them. */
#define PARSE(words, word, found) \
	parse(words, sizeof(words) / sizeof(*(words)), word, (unsigned *)(found))

static bool parse(const char *const words[], unsigned n, const char *word, unsigned *found)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0) {
			*found = i;
			return true;
		}
	return false;
}

bool report_sort_parse(const char *word, enum report_sort *sort)
{
	return PARSE(sort_words, word, sort);
}

bool report_by_parse(const char *word, enum report_by *by)
{
	return PARSE(by_words, word, by);
}

const char *report_by_name(enum report_by by)
{
	assert((size_t)by < sizeof(by_words) / sizeof(*by_words));
	return by_words[by];
}

bool report_color_parse(const char *word, enum report_color *color)
{
	return PARSE(color_words, word, color);
}

bool report_processes_parse(const char *word, enum report_processes *processes)
{
	return PARSE(processes_words, word, processes);
}

bool report_direction_parse(const char *word, enum traffic_direction *direction)
{
	return PARSE(direction_words, word, direction);
}

const char *report_level_parse(const char *word)
{
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (strcasecmp(word, levels[i]) == 0)
			return levels[i];
	return NULL;
}

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
	return options->by != BY_FUNCTION || options->focus || options->ignore ||
	       options->min_share > 0;
}

struct rf_error *report_shape_check(const struct report_options *options)
{
	static const char *const names[] = {
#define EXPORT(name, writer, check, help) [EXPORT_##name] = "--" #name,
#include "report/rows/export_formats.def"
#undef EXPORT
	};
	const char *refused = options->html_path ? "--html" : NULL;
	if (!report_is_shaped(options))
		return NULL;
	for (size_t i = 0; i < N_EXPORTS; i++)
		if (options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png)
			refused = names[i];
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

bool report_from_sums(const struct report_options *options)
{
	bool details = options->json_path || options->html_path || options->function ||
		       report_is_shaped(options) || options->processes == PROCESSES_TREE;
	for (size_t i = 0; i < N_EXPORTS; i++)
		details |= options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png;
	return !details;
}
