/* Makes the options of a report from those of the command line, and says what does not go together.
 */
#include "cli/report_request.h"

#include "cli/command_line.h"
#include "report/rows/filter.h"
#include "report/rows/report_options.h"

static void take(const struct options *given, struct report_options *options)
{
	*options = (struct report_options){
		.top = (size_t)given->top,
		.sort = (enum report_sort)given->sort,
		.by = (enum report_by)given->by,
		.focus = given->focus,
		.ignore = given->ignore,
		.function = given->function,
		.plot = given->plot,
		.verbose = given->verbose,
		.color = (enum report_color)given->color,
		.ascii = given->ascii,
		.width = (size_t)given->width,
		.processes = (enum report_processes)given->processes,
		.level = rf_word_of(report_level_words, given->level),
		.direction = (enum traffic_direction)given->direction,
		.ecm = given->ecm,
		.levels = given->levels,
		.svg_path = given->svg,
		.json_path = given->json,
		.html_path = given->html,
		.html_compare = given->html_compare,
		.redact = given->redact,
		.exports = {{
#define EXPORT(name, ...) [EXPORT_##name] = given->export_##name,
#include "report/rows/export_formats.def"
#undef EXPORT
		}},
	};
}

struct rf_error *report_request(const struct options *given, struct report_options *options)
{
	take(given, options);
	options->progress = given->report_quiet ? NULL : stderr;
	if (report_stdout_files(options) + (given->to_stdout != 0) > 1)
		return usage_error("only one thing can go to standard output",
				   given->to_stdout ? "--stdout" : "-");
	if (given->html_compare && !given->html)
		return usage_error("--html-compare is about the page of --html",
				   given->html_compare);
	if (given->open_page && (!given->html || report_is_stdout(given->html)))
		return usage_error("needs a page, by --html FILE", "--open");
	if (given->min && !report_share_parse(given->min, &options->min_share))
		return usage_error("--min takes a share of the time, such as 2%", given->min);
	struct rf_error *error = report_pattern_check("--focus", given->focus);
	if (!error)
		error = report_pattern_check("--ignore", given->ignore);
	if (error)
		return error;
	if (options->processes == PROCESSES_TREE &&
	    (options->by != BY_FUNCTION || given->focus || given->ignore || given->min))
		return usage_error("goes without --by, --focus, --ignore and --min",
				   "--processes=tree");
	if (options->ecm && report_is_shaped(options))
		return usage_error("goes without --by, --focus, --ignore and --min", "--ecm");
	return report_shape_check(options);
}
