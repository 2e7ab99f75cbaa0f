/* `rfprof diff A B`: loads two profiles, writes what has changed, and tests conditions. */
#include "cli/command.h"

#include "cli/output_file.h"
#include "profile/profile.h"
#include "report/diff/diff_conditions.h"
#include "report/json/diff_json.h"
#include "report/rows/report_options.h"
#include "report/svg/svg.h"
#include "report/text/diff_table.h"

#include <stdlib.h>
#include <sys/wait.h>

enum { EXIT_CONDITION = 3 }; /* a condition of --fail-on is met */

static struct rf_error *write_all(const struct options *given, const char *const *paths,
				  const struct diff *diff)
{
	const bool other = report_is_stdout(given->diff_json) || report_is_stdout(given->diff_svg);
	const size_t top = (size_t)given->diff_top;
	enum { SVG, JSON, TABLE, KINDS };
	const char *const files[KINDS] = {given->diff_svg, given->diff_json, given->diff_output};
	struct rf_error *error = NULL;
	for (int kind = SVG; kind < KINDS && !error; kind++) {
		const char *path = report_is_stdout(files[kind]) ? NULL : files[kind];
		struct output_file file;
		if (!files[kind] && (kind != TABLE || other))
			continue;
		error = output_file_open(path, stdout, &file);
		if (error)
			break;
		error = kind == SVG    ? diff_svg(diff, top, file.stream)
			: kind == JSON ? diff_json(diff, paths, file.stream)
				       : diff_table(diff, paths, top, file.stream);
		error = output_file_close(&file, error);
	}
	return error;
}

struct conditions {
	struct diff_condition *all;
	size_t n;
};

static struct rf_error *parse_conditions(char **texts, struct conditions *conditions)
{
	size_t n = 0;
	while (texts && texts[n])
		n++;
	conditions->all = calloc(n + 1, sizeof(*conditions->all));
	struct rf_error *error = conditions->all ? NULL : rf_error_no_memory();
	for (; conditions->n < n && !error; conditions->n += !error)
		error = diff_condition_parse(texts[conditions->n], &conditions->all[conditions->n]);
	return error;
}

/* The conditions last: their lines stand below the table. */
static struct rf_error *compare(const struct options *given, const char *const *paths,
				const struct conditions *conditions, bool *met)
{
	struct profile *a = NULL, *b = NULL;
	struct diff diff = {0};
	struct rf_error *error = profile_load(paths[0], &a);
	if (!error)
		error = profile_load(paths[1], &b);
	if (!error)
		error = diff_init(&diff, a, b);
	if (!error)
		error = write_all(given, paths, &diff);
	for (size_t i = 0; i < conditions->n && !error; i++)
		error = diff_condition_test(&diff, &conditions->all[i], stderr, met);
	diff_deinit(&diff);
	profile_destroy(a);
	profile_destroy(b);
	return error;
}

struct rf_error *diff_command(const struct options *given, const char **words, int *status)
{
	struct conditions conditions = {0};
	bool met = false;
	if (!words[0] || !words[1] || words[2])
		return rf_error_create(RF_EINPUT, "try rfprof diff before.rfp after.rfp",
				       "two profiles are wanted");
	if (report_is_stdout(given->diff_json) && report_is_stdout(given->diff_svg))
		return rf_error_create(RF_EINPUT, NULL, "only one thing can go to standard output");
	struct rf_error *error = parse_conditions(given->fail_on, &conditions);
	if (!error)
		error = compare(given, words, &conditions, &met);
	for (size_t i = 0; i < conditions.n; i++)
		diff_condition_deinit(&conditions.all[i]);
	free(conditions.all);
	*status = W_EXITCODE(met ? EXIT_CONDITION : 0, 0);
	return error;
}
