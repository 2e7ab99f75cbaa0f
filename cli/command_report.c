/* `rfprof report FILE`: reads a profile and writes all that was asked for. */
#include "cli/command.h"

#include "cli/command_line.h"
#include "cli/open_page.h"
#include "cli/output_file.h"
#include "cli/report_request.h"
#include "profile/profile.h"
#include "report/check/check.h"
#include "report/export/export.h"
#include "report/merge/rank_files.h"
#include "report/model/model.h"
#include "report/report.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { EXIT_BROKEN = 1 }; /* --check has found something */

/* The table, unless something else has standard output. */
static struct rf_error *write_profile(const struct profile *profile, const struct options *given,
				      const struct report_options *options)
{
	const bool other = report_stdout_files(options) && !given->output && !given->to_stdout;
	struct output_file table;
	struct rf_error *error = output_file_open(given->output, stdout, &table);
	if (error)
		return error;
	error = report_write(profile, options, other ? NULL : table.stream);
	return output_file_close(&table, error);
}

static struct rf_error *check_profile(const char *path, const struct options *given, int *status)
{
	struct report_checked checked = {0};
	struct profile *profile = NULL;
	struct output_file file;
	struct rf_error *error =
		profile_load(path, &profile) ?: output_file_open(given->output, stdout, &file);
	if (!error) {
		error = report_check(profile, file.stream, &checked);
		if (!error && !checked.n_broken)
			fprintf(file.stream, "%zu invariants hold in %zu rows\n",
				checked.n_invariants, checked.n_rows);
		error = output_file_close(&file, error);
	}
	profile_destroy(profile);
	*status = W_EXITCODE(checked.n_broken ? EXIT_BROKEN : 0, 0);
	return error;
}

/* Of ranks put together there are sums by function, and nothing that these were made from. */
static struct rf_error *check_merged(const struct options *given,
				     const struct report_options *options)
{
	const char *refused = options->ecm ? "--ecm" : options->function ? "--function" : NULL;
	for (size_t i = 0; i < N_EXPORTS; i++)
		if (options->exports.of[i] && i != EXPORT_csv && i != EXPORT_png)
			refused = "a file of call paths, samples or lines";
	if (options->processes == PROCESSES_TREE || options->by == BY_PYTHON ||
	    options->by == BY_THREAD)
		refused = "a table of processes, threads or Python";
	if (report_is_shaped(options) &&
	    (options->by != BY_FUNCTION || options->focus || options->ignore))
		refused = "--by, --focus and --ignore";
	if (!refused)
		return NULL;
	return rf_error_create(
		RF_EINPUT,
		"name the profile of one rank for that: rfprof report rfprof-PROGRAM.0.rfp",
		"%s: of ranks that are put together the functions are known, and no more", refused);
}

static struct rf_error *load_ranks(const char *const *names, const struct options *given,
				   const struct report_options *options, struct profile **profile)
{
	struct rf_error *error =
		check_merged(given, options) ?: rank_files_merge(names, stderr, profile);
	return error || !given->redact ? error : profile_redact(*profile);
}

/* What is saved has all the tables, and sums of its own. */
static struct rf_error *load(const char *path, const struct options *given,
			     const struct report_options *options, struct profile **profile)
{
	const bool sums = report_from_sums(options) && !given->save;
	/* stand-ins for names are numbered in the order in which all of the profile names things */
	const bool lines = report_has_lines(options) || given->save || given->redact;
	struct rf_error *error =
		profile_load_parts(path, (sums ? PROFILE_SUMS : 0) | (lines ? PROFILE_LINES : 0),
				   profile);
	if (!error && given->redact)
		error = profile_redact(*profile);
	if (!error && given->no_source)
		profile_drop_sources(*profile);
	if (!error && (*profile)->n_ranks)
		return check_merged(given, options);
	return error || !given->save ? error : model_summarise(*profile);
}

/* The profile that was written last of those with names of rfprof's own choice in this directory;
 * to be freed; NULL: there is none. */
static char *newest_profile(void)
{
	glob_t found;
	struct timespec newest = {0};
	char *path = NULL;
	if (glob("rfprof-*.rfp", GLOB_NOSORT, NULL, &found) != 0)
		return NULL;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat status;
		if (stat(found.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode) ||
		    (path && (status.st_mtim.tv_sec < newest.tv_sec ||
			      (status.st_mtim.tv_sec == newest.tv_sec &&
			       status.st_mtim.tv_nsec < newest.tv_nsec))))
			continue;
		free(path);
		path = strdup(found.gl_pathv[i]);
		newest = status.st_mtim;
	}
	globfree(&found);
	return path;
}

/* unasked: the user named no file, and need not name it for the next report either. */
static struct rf_error *report_files(const char *const *names, const struct options *given,
				     struct report_options *options, bool unasked, int *status)
{
	const char *path = names[0];
	const bool many = rank_files_are_many(names);
	struct profile *profile = NULL;
	struct rf_error *error;
	if (given->check && (given->save || given->svg || given->export_csv || given->export_png ||
			     !report_from_sums(options)))
		return usage_error("goes with no option but -o", "--check");
	if (given->check && many)
		return usage_error("is about one profile", "--check");
	if (given->check)
		return check_profile(path, given, status);
	options->saved_as = given->save ? given->save : unasked ? "" : names[1] ? NULL : path;
	error = export_check(&options->exports)
			?: many ? load_ranks(names, given, options, &profile)
				: load(path, given, options, &profile);
	if (!error)
		error = write_profile(profile, given, options);
	if (!error && given->save)
		error = profile_save(profile, given->save);
	if (!error && given->open_page)
		open_page(given->html, stderr);
	profile_destroy(profile);
	return error;
}

struct rf_error *report_command(const struct options *given, const char **words, int *status)
{
	struct report_options options;
	struct rf_error *error = report_request(given, &options);
	if (error)
		return error;
	char *newest = words[0] ? NULL : newest_profile();
	if (!words[0] && !newest)
		return rf_error_create(RF_EINPUT, "try rfprof report FILE",
				       "no rfprof-PROGRAM.rfp in this directory");
	const char *const found[] = {newest, NULL};
	error = report_files(newest ? found : words, given, &options, newest != NULL, status);
	free(newest);
	return error;
}
