/* `rfprof sweep`: measures a command at all points of a parameter space. */
#include "cli/command.h"

#include "cli/command_line.h"
#include "cli/output_file.h"
#include "machine/data/machine_json.h"
#include "machine/store/machine_get.h"
#include "report/export/export.h"
#include "sweep/formula.h"
#include "sweep/gallery.h"
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

/* ---- what is written ---- */

static bool any_name(__attribute__((unused)) void *context,
		     __attribute__((unused)) const char *name, double *value)
{
	*value = 1;
	return true;
}

/* A parameter whose values are numbers, all of them. */
static bool parameter_name(void *context, const char *name, double *value)
{
	const struct space *space = context;
	bool is_number = false;
	for (size_t i = 0; i < space->n_parameters; i++) {
		const struct parameter *parameter = &space->parameters[i];
		if (strcmp(parameter->name, name) != 0)
			continue;
		is_number = true;
		for (size_t k = 0; k < parameter->n_values; k++) {
			char *end;
			*value = strtod(parameter->values[k], &end);
			is_number &= end != parameter->values[k] && !*end;
		}
	}
	return is_number;
}

/* `space`: whose parameters it may name; NULL: any. */
static struct rf_error *check_formulas(const struct options *given, struct space *space)
{
	const char *const formulas[] = {given->sweep_work, given->sweep_bytes, given->sweep_size};
	struct rf_error *error = NULL;
	double value;
	for (size_t i = 0; !error && i < sizeof(formulas) / sizeof(*formulas); i++)
		if (formulas[i])
			error = formula_value(formulas[i], space ? parameter_name : any_name, space,
					      &value);
	return error;
}

static struct rf_error *check_output(const struct options *given)
{
	return output_file_check(given->sweep_json)
		       ?: output_file_check(given->sweep_svg)
		       ?: output_file_check(given->sweep_png)
		       ?: output_file_check(given->sweep_html)
		       ?: output_file_check(given->sweep_output)
		       ?: check_formulas(given, NULL)
		       ?: (given->sweep_png ? export_png_check() : NULL);
}

/* To a file, "-" for standard output; nothing for NULL. */
static struct rf_error *write_to(const struct gallery *gallery, const char *path,
				 struct rf_error *(*view)(const struct gallery *gallery,
							  FILE *stream))
{
	struct output_file file;
	if (!path)
		return NULL;
	struct rf_error *error =
		output_file_open(strcmp(path, "-") == 0 ? NULL : path, stdout, &file);
	return error ? error : output_file_close(&file, view(gallery, file.stream));
}

/* Whether one of the files goes to standard output, in place of the table. */
static bool has_stdout(const struct options *given)
{
	const char *const paths[] = {given->sweep_json, given->sweep_svg, given->sweep_png,
				     given->sweep_html};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (paths[i] && strcmp(paths[i], "-") == 0)
			return true;
	return false;
}

static struct rf_error *write_all(const struct options *given, const struct sweep *sweep,
				  struct store *store, const struct machine *machine)
{
	struct gallery gallery = {.kind = (enum plot_kind)given->sweep_plot,
				  .plot = {.work_formula = given->sweep_work,
					   .traffic_formula = given->sweep_bytes,
					   .size_formula = given->sweep_size,
					   .per_cycle = given->sweep_per_cycle,
					   .left = given->sweep_left,
					   .joins = given->sweep_join},
				  .metrics = given->sweep_metrics};
	struct rf_error *error = gallery_init(&gallery, sweep, store, machine, given->sweep_with);
	error = error ?: write_to(&gallery, given->sweep_svg, gallery_svg)
			?: write_to(&gallery, given->sweep_png, gallery_png)
			?: write_to(&gallery, given->sweep_html, gallery_html)
			?: write_to(&gallery, given->sweep_json, gallery_json);
	if (!error && (given->sweep_output || !has_stdout(given)))
		error = write_to(&gallery, given->sweep_output ? given->sweep_output : "-",
				 gallery_text);
	gallery_deinit(&gallery);
	return error;
}

/* ---- the machine, as JSON of the file and as it is ---- */

static struct rf_error *machine_text(const struct machine *machine, char **text)
{
	json_t *json;
	struct rf_error *error = machine_to_json(machine, &json);
	if (error)
		return error;
	*text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return *text ? NULL : rf_error_no_memory();
}

static struct rf_error *machine_of_text(const char *text, struct machine *machine)
{
	json_t *json = json_loads(text, 0, NULL);
	if (!json)
		return rf_error_create(RF_EFORMAT, "measure it anew",
				       "the file's machine cannot be read");
	struct rf_error *error = machine_from_json(json, machine);
	json_decref(json);
	return error;
}

static struct rf_error *this_machine(struct machine *machine)
{
	struct rf_error *warning = NULL;
	struct rf_error *error = machine_get(&(struct machine_options){0}, machine, &warning);
	if (warning)
		rf_error_print(warning, stderr);
	rf_error_destroy(warning);
	return error;
}

/* ---- what is done ---- */

/* Measures what is missing, keeps which sweep it was, and writes what was asked for. */
static struct rf_error *measure_and_write(const struct options *given, struct sweep *sweep,
					  struct store *store, const char **words, int *interrupted)
{
	struct machine machine = {0};
	char *text = NULL;
	struct rf_error *error = sweep_run(sweep, store, interrupted) ?: this_machine(&machine);
	if (!error && !*interrupted)
		error = machine_text(&machine, &text) ?: sweep_keep(sweep, store, words, text);
	error = error ?: write_all(given, sweep, store, &machine);
	free(text);
	machine_deinit(&machine);
	return error;
}

static struct rf_error *run(const struct options *given, struct sweep *sweep, const char **words,
			    int *status)
{
	struct store *store;
	bool failed = false;
	int interrupted = 0;
	struct rf_error *error = store_open(sweep->options->path, !given->sweep_dry_run, &store);
	if (error)
		return error;
	error = sweep_look(sweep, store, !given->sweep_dry_run);
	if (!error && given->sweep_dry_run) {
		sweep_dry(sweep, stdout);
		store_close(store);
		return output_stream_flush(stdout, NULL);
	}
	error = error ?: measure_and_write(given, sweep, store, words, &interrupted);
	for (size_t i = 0; i < sweep->space.n_points; i++)
		failed |= sweep->points[i].failed;
	*status = interrupted ? W_EXITCODE(0, interrupted) : failed ? W_EXITCODE(1, 0) : 0;
	store_close(store);
	return error;
}

/* The sweep that the file has, with the machine that it was measured on. */
static struct rf_error *show(const struct options *given, const struct sweep_options *options)
{
	struct sweep sweep = {0};
	struct store *store;
	struct machine machine = {0};
	char *text = NULL;
	struct rf_error *error = store_open(options->path, false, &store);
	if (!error && !store)
		return usage_error("no file of a sweep; give parameters and a command",
				   options->path);
	error = error ?: sweep_open(&sweep, options, store, &text)
			?: machine_of_text(text, &machine)
			?: write_all(given, &sweep, store, &machine);
	free(text);
	machine_deinit(&machine);
	sweep_deinit(&sweep);
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
			    .caches = given->sweep_caches == CACHES_AS_IS
					      ? NULL
					      : rf_word_of(caches_at_calls_words,
							   given->sweep_caches),
			    .tlb_pages = given->sweep_tlb_pages
						 ?: given->sweep_tlb ? ""
								     : NULL,
			    .other_caches = given->sweep_other},
		.environment = given->sweep_env,
		.path = given->sweep_save ? given->sweep_save : DEFAULT_FILE,
		.repeats = given->sweep_repeats ? (size_t)given->sweep_repeats : DEFAULT_REPEATS,
		.traced = given->sweep_traced ? (size_t)given->sweep_traced : 1,
		.quiet = given->sweep_quiet,
	};
	snprintf(sample, sizeof(sample), "%d", given->sweep_cache_sample);
	if (given->sweep_env && strchr(given->sweep_env, '='))
		return usage_error("--env names variables; let env set them: -- env NAME=VALUE "
				   "PROGRAM",
				   given->sweep_env);
	struct rf_error *error = take_budget(given->sweep_budget, &options.budget_s)
					 ?: kernel_files_check(options.measure.kernels)
					 ?: check_output(given);
	if (!error && (!words || !*words) && !given->sweep_dry_run)
		return show(given, &options);
	error = error ?: sweep_init(&sweep, &options, words);
	error = error ?: check_formulas(given, &sweep.space); /* before hours are spent */
	error = error ?: run(given, &sweep, words, status);
	sweep_deinit(&sweep);
	return error;
}
