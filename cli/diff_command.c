/* `rfprof diff A B`: loads two profiles, writes what has changed, and tests conditions. */
#include "cli/diff_command.h"

#include "cli/output_file.h"
#include "profile/profile.h"
#include "report/diff/diff_conditions.h"
#include "report/json/diff_json.h"
#include "report/svg/diff_svg.h"
#include "report/text/diff_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { EXIT_CONDITION = 3 }; /* a condition of --fail-on is met */

/* One `rfprof diff`. */
struct comparison {
	const struct options *given;
	const char *const *paths; /* A, B */
	struct diff_condition *conditions;
	size_t n;
};

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* One kind of output. */
typedef struct rf_error *writer(const struct comparison *comparison, const struct diff *diff,
				FILE *stream);

static struct rf_error *write_table(const struct comparison *comparison, const struct diff *diff,
				    FILE *stream)
{
	return diff_table(diff, comparison->paths, (size_t)comparison->given->diff_top, stream);
}

static struct rf_error *write_json(const struct comparison *comparison, const struct diff *diff,
				   FILE *stream)
{
	return diff_json(diff, comparison->paths, stream);
}

static struct rf_error *write_svg(const struct comparison *comparison, const struct diff *diff,
				  FILE *stream)
{
	return diff_svg(diff, (size_t)comparison->given->diff_top, stream);
}

static struct rf_error *write_to(const struct comparison *comparison, const struct diff *diff,
				 writer *write, const char *path)
{
	struct output_file file;
	struct rf_error *error = output_file_open(&file, is_stdout(path) ? NULL : path, stdout);
	if (error)
		return error;
	error = write(comparison, diff, file.stream);
	return output_file_close(&file, error);
}

static struct rf_error *write_all(const struct comparison *comparison, const struct diff *diff)
{
	const struct options *given = comparison->given;
	const bool other = is_stdout(given->diff_json) || is_stdout(given->diff_svg);
	struct rf_error *error = NULL;
	if (given->diff_svg)
		error = write_to(comparison, diff, write_svg, given->diff_svg);
	if (!error && given->diff_json)
		error = write_to(comparison, diff, write_json, given->diff_json);
	if (!error && (given->diff_output || !other))
		error = write_to(comparison, diff, write_table, given->diff_output);
	return error;
}

static struct rf_error *test_conditions(const struct comparison *comparison,
					const struct diff *diff, bool *met)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < comparison->n && !error; i++)
		error = diff_condition_test(diff, &comparison->conditions[i], stderr, met);
	return error;
}

/* The conditions last: their lines stand below the table. */
static struct rf_error *compare(const struct comparison *comparison, const struct profile *a,
				const struct profile *b, bool *met)
{
	struct diff diff;
	struct rf_error *error = diff_init(&diff, a, b);
	if (!error)
		error = write_all(comparison, &diff);
	if (!error)
		error = test_conditions(comparison, &diff, met);
	diff_deinit(&diff);
	return error;
}

static struct rf_error *load_and_compare(const struct comparison *comparison, bool *met)
{
	struct profile *a = NULL, *b = NULL;
	struct rf_error *error = profile_load(comparison->paths[0], &a);
	if (!error)
		error = profile_load(comparison->paths[1], &b);
	if (!error)
		error = compare(comparison, a, b, met);
	profile_destroy(a);
	profile_destroy(b);
	return error;
}

static struct rf_error *parse_conditions(struct comparison *comparison)
{
	char **texts = comparison->given->fail_on;
	size_t n = 0;
	while (texts && texts[n])
		n++;
	comparison->conditions = calloc(n + 1, sizeof(*comparison->conditions));
	struct rf_error *error = comparison->conditions ? NULL : rf_error_no_memory();
	for (; comparison->n < n && !error; comparison->n += !error)
		error = diff_condition_parse(texts[comparison->n],
					     &comparison->conditions[comparison->n]);
	return error;
}

struct rf_error *diff_command(const struct options *given, const char **words, int *status)
{
	struct comparison comparison = {.given = given, .paths = words};
	bool met = false;
	if (!words[0] || !words[1] || words[2])
		return rf_error_create(RF_EINPUT, "try rfprof diff before.rfp after.rfp",
				       "two profiles are wanted");
	if (is_stdout(given->diff_json) && is_stdout(given->diff_svg))
		return rf_error_create(RF_EINPUT, NULL, "only one thing can go to standard output");
	struct rf_error *error = parse_conditions(&comparison);
	if (!error)
		error = load_and_compare(&comparison, &met);
	for (size_t i = 0; i < comparison.n; i++)
		diff_condition_deinit(&comparison.conditions[i]);
	free(comparison.conditions);
	*status = W_EXITCODE(met ? EXIT_CONDITION : 0, 0);
	return error;
}
