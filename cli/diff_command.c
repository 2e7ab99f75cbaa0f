#include "cli/diff_command.h"

#include "cli/output_file.h"
#include "profile/profile.h"
#include "report/diff/diff_conditions.h"
#include "report/json/diff_json.h"
#include "report/svg/diff_svg.h"
#include "report/text/diff_table.h"

#include <stdlib.h>
#include <string.h>

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* One kind of output. */
typedef struct rf_error *writer(const struct diff_command *command, const struct diff *diff,
				FILE *stream);

static struct rf_error *write_table(const struct diff_command *command, const struct diff *diff,
				    FILE *stream)
{
	return diff_table(diff, command->paths, command->top, stream);
}

static struct rf_error *write_json(const struct diff_command *command, const struct diff *diff,
				   FILE *stream)
{
	return diff_json(diff, command->paths, stream);
}

static struct rf_error *write_svg(const struct diff_command *command, const struct diff *diff,
				  FILE *stream)
{
	return diff_svg(diff, command->top, stream);
}

static struct rf_error *write_to(const struct diff_command *command, const struct diff *diff,
				 writer *write, const char *path)
{
	struct output_file file;
	struct rf_error *error = output_file_open(&file, is_stdout(path) ? NULL : path, stdout);
	if (error)
		return error;
	error = write(command, diff, file.stream);
	return output_file_close(&file, error);
}

static struct rf_error *write_all(const struct diff_command *command, const struct diff *diff)
{
	const bool other = is_stdout(command->json_path) || is_stdout(command->svg_path);
	struct rf_error *error = NULL;
	if (command->svg_path)
		error = write_to(command, diff, write_svg, command->svg_path);
	if (!error && command->json_path)
		error = write_to(command, diff, write_json, command->json_path);
	if (!error && (command->output_path || !other))
		error = write_to(command, diff, write_table, command->output_path);
	return error;
}

static struct rf_error *test_conditions(const struct diff *diff,
					const struct diff_condition *conditions, size_t n,
					bool *failed)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++)
		error = diff_condition_test(diff, &conditions[i], stderr, failed);
	return error;
}

/* The conditions last: their lines stand below the table. */
static struct rf_error *compare(const struct diff_command *command, const struct profile *a,
				const struct profile *b, const struct diff_condition *conditions,
				size_t n, bool *failed)
{
	struct diff diff;
	struct rf_error *error = diff_init(&diff, a, b);
	if (!error)
		error = write_all(command, &diff);
	if (!error)
		error = test_conditions(&diff, conditions, n, failed);
	diff_deinit(&diff);
	return error;
}

static struct rf_error *load_and_compare(const struct diff_command *command,
					 const struct diff_condition *conditions, size_t n,
					 bool *failed)
{
	struct profile *a = NULL, *b = NULL;
	struct rf_error *error = profile_load(command->paths[0], &a);
	if (!error)
		error = profile_load(command->paths[1], &b);
	if (!error)
		error = compare(command, a, b, conditions, n, failed);
	profile_destroy(a);
	profile_destroy(b);
	return error;
}

struct rf_error *diff_command(const struct diff_command *command, bool *failed)
{
	size_t n = 0, parsed = 0;
	while (command->fail_on && command->fail_on[n])
		n++;
	struct diff_condition *conditions = calloc(n + 1, sizeof(*conditions));
	struct rf_error *error =
		conditions ? NULL : rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	*failed = false;
	if (!error && is_stdout(command->json_path) && is_stdout(command->svg_path))
		error = rf_error_create(RF_EINPUT, NULL,
					"only one thing can go to standard output");
	for (; parsed < n && !error; parsed += !error)
		error = diff_condition_parse(command->fail_on[parsed], &conditions[parsed]);
	if (!error)
		error = load_and_compare(command, conditions, n, failed);
	for (size_t i = 0; i < parsed; i++)
		diff_condition_deinit(&conditions[i]);
	free(conditions);
	return error;
}
