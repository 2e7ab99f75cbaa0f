/* `rfprof sweep`: measures a command at all points of a parameter space. */
#include "cli/command.h"

#include "cli/command_line.h"
#include "cli/output_file.h"
#include "machine/store/machine_get.h"
#include "sweep/sweep_svg.h"
#include "sweep/views.h"
#include "tracer/kernel/kernel_files.h"
#include "tracer/traffic/traffic_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define DEFAULT_REPEATS 5
#define DEFAULT_FILE "sweep.rfp"
#define DEFAULT_KERNEL "main"

/* "90", "90s", "10m", "2h". */
static struct rf_error *take_budget(const char *text, double *seconds)
{
	char *end;
	*seconds = 0;
	if (!text)
		return NULL;
	*seconds = strtod(text, &end);
	const char *unit = strchr("smh", *end);
	if (end == text || !unit || (*end && end[1]) || !(*seconds > 0) || *seconds > 1e9)
		return usage_error("a time such as 90s, 10m or 2h is wanted", text);
	*seconds *= *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
	return NULL;
}

static struct rf_error *draw(const char *path, const struct sweep *sweep, struct store *store)
{
	struct machine machine = {0};
	struct rf_error *warning = NULL;
	struct output_file file;
	struct rf_error *error = machine_get(&(struct machine_options){0}, &machine, &warning);
	if (warning)
		rf_error_print(warning, stderr);
	rf_error_destroy(warning);
	if (error)
		return error;
	error = output_file_open(path, stdout, &file);
	if (!error)
		error = output_file_close(&file, sweep_svg(sweep, store, &machine, file.stream));
	machine_deinit(&machine);
	return error;
}

static struct rf_error *write_results(const struct options *given, const struct sweep *sweep,
				      struct store *store)
{
	struct output_file file;
	const char *const json = given->sweep_json;
	const bool other = json && strcmp(json, "-") == 0;
	struct rf_error *error = given->sweep_svg ? draw(given->sweep_svg, sweep, store) : NULL;
	if (!error && json) {
		error = output_file_open(other ? NULL : json, stdout, &file);
		if (!error)
			error = output_file_close(&file, sweep_json(sweep, store, file.stream));
	}
	if (error || other)
		return error;
	error = output_file_open(given->sweep_output, stdout, &file);
	return error ? error : output_file_close(&file, sweep_table(sweep, store, file.stream));
}

static struct rf_error *run(const struct options *given, struct sweep *sweep, int *status)
{
	struct store *store;
	bool interrupted = false, failed = false;
	struct rf_error *error = store_open(sweep->options->path, !given->sweep_dry_run, &store);
	if (error)
		return error;
	error = sweep_look(sweep, store, !given->sweep_dry_run);
	if (!error && given->sweep_dry_run) {
		sweep_dry(sweep, stdout);
		store_close(store);
		return output_stream_flush(stdout, NULL);
	}
	error = error ?: sweep_run(sweep, store, &interrupted);
	for (size_t i = 0; i < sweep->space.n_points; i++)
		failed |= sweep->points[i].failed;
	if (!error)
		error = write_results(given, sweep, store);
	*status = failed ? W_EXITCODE(1, 0) : 0;
	store_close(store);
	return error;
}

struct rf_error *sweep_command(const struct options *given, const char **words, int *status)
{
	char sample[16];
	struct sweep sweep = {0};
	struct sweep_options options = {
		.measure = {.kernels = given->sweep_kernel ? given->sweep_kernel : DEFAULT_KERNEL,
			    .cache = given->sweep_cache,
			    .cache_sample = given->sweep_cache_sample ? sample : NULL,
			    .slowdown = given->sweep_slowdown,
			    .caches = given->sweep_caches == CACHES_COLD ? "cold" : NULL},
		.environment = given->sweep_env,
		.path = given->sweep_save ? given->sweep_save : DEFAULT_FILE,
		.repeats = given->sweep_repeats ? (size_t)given->sweep_repeats : DEFAULT_REPEATS,
		.quiet = given->sweep_quiet,
	};
	snprintf(sample, sizeof(sample), "%d", given->sweep_cache_sample);
	struct rf_error *error = take_budget(given->sweep_budget, &options.budget_s)
					 ?: kernel_files_check(options.measure.kernels)
					 ?: output_file_check(given->sweep_json)
					 ?: output_file_check(given->sweep_svg)
					 ?: output_file_check(given->sweep_output)
					 ?: sweep_init(&sweep, &options, words);
	error = error ?: run(given, &sweep, status);
	sweep_deinit(&sweep);
	return error;
}
