/* `rfprof machine`: what is shown, measured, imported and forgotten. */
#include "cli/command.h"

#include "base/progress.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/output_file.h"
#include "machine/data/core_json.h"
#include "machine/data/machine.h"
#include "machine/data/machine_json.h"
#include "machine/data/machine_print.h"
#include "machine/store/core_store.h"
#include "machine/store/custom_roofs.h"
#include "machine/store/machine_get.h"
#include "machine/store/thread_list.h"
#include "report/report.h"

#include <errno.h>
#include <libsmartcols.h>
#include <stdlib.h>
#include <string.h>

/* ---- custom roofs ---- */

static struct rf_error *import(const char *path)
{
	struct custom_roof_set imported;
	struct rf_error *error = custom_roofs_import(path, &imported);
	char *kept = NULL;
	if (!error)
		error = custom_roofs_path(&kept);
	if (!error)
		printf("%zu roof%s imported into %s\n", imported.n, imported.n == 1 ? "" : "s",
		       kept);
	free(kept);
	return error;
}

static struct rf_error *forget(const char *name)
{
	size_t removed = 0;
	struct rf_error *error = custom_roofs_forget(name, &removed);
	if (!error)
		printf("%zu custom roof%s removed\n", removed, removed == 1 ? "" : "s");
	return error;
}

static int add_line(struct libscols_table *table, const struct custom_roof *roof)
{
	char value[TEXT_NUMBER], *name = text_clean(roof->name), *source = text_clean(roof->source);
	struct libscols_line *line = name && source ? scols_table_new_line(table, NULL) : NULL;
	const char *const cells[] = {name, text_number(value, roof->value), roof->unit, source};
	int failed = !line;
	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells) && !failed; i++)
		failed = scols_line_set_data(line, i, cells[i]);
	free(name);
	free(source);
	return failed;
}

/* The custom roofs under the table of those that were measured. */
static struct rf_error *print_custom(const struct machine *machine, FILE *stream)
{
	static const char *const columns[] = {"name", "value", "unit", "source"};
	if (!machine->n_custom_roofs)
		return NULL;
	struct libscols_table *table = scols_new_table();
	int failed = !table || scols_table_set_stream(table, stream);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && !failed; i++)
		failed = !scols_table_new_column(table, columns[i], 0, i == 1 ? SCOLS_FL_RIGHT : 0);
	for (size_t i = 0; i < machine->n_custom_roofs && !failed; i++)
		failed = add_line(table, &machine->custom_roofs[i]);
	if (!failed) {
		fputs("\nstated, not measured:\n", stream);
		failed = scols_print_table(table);
	}
	scols_unref_table(table);
	return failed ? rf_error_create(RF_EINTERNAL, NULL, "cannot make the table of custom roofs")
		      : NULL;
}

/* ---- the machine ---- */

static void show_progress(void *context, const char *what, int step, int n_steps)
{
	char text[192];
	snprintf(text, sizeof(text), "measuring %d/%d %s", step, n_steps, what);
	progress_show(context, (double)step / n_steps, text);
}

static void warn(struct rf_error *warning)
{
	if (warning)
		rf_error_print(warning, stderr);
	rf_error_destroy(warning);
}

static struct rf_error *add_custom(struct machine *machine)
{
	struct custom_roof_set set;
	warn(custom_roofs_load(&set));
	machine->custom_roofs = malloc((set.n + 1) * sizeof(*set.roofs));
	if (!machine->custom_roofs)
		return rf_error_no_memory();
	memcpy(machine->custom_roofs, set.roofs, set.n * sizeof(*set.roofs));
	machine->n_custom_roofs = set.n;
	return NULL;
}

static struct rf_error *write_json(const struct machine *machine, const struct core_facts *core,
				   FILE *stream)
{
	json_t *json = NULL;
	struct rf_error *error = machine_to_json(machine, &json);
	if (error)
		return error;
	if (json_object_set_new(json, "custom_roofs",
				custom_roofs_to_json(machine->custom_roofs,
						     machine->n_custom_roofs)) ||
	    json_object_set_new(json, "core",
				core_facts_known(core) ? core_facts_to_json(core) : json_null()))
		error = rf_error_no_memory();
	else if (json_dumpf(json, stream, JSON_INDENT(2)) || putc('\n', stream) == EOF ||
		 fflush(stream))
		error = rf_error_errno(RF_EACCESS, errno, "make room there",
				       "cannot write the JSON");
	json_decref(json);
	return error;
}

/* What memory takes, and how many forms are known; each of them is in the JSON. */
static void print_core(const struct core_facts *core, FILE *stream)
{
	if (!core_facts_known(core))
		return;
	fprintf(stream,
		"\nthe core, in cycles: load %.1f (general) and %.1f (vector); from a store to its "
		"load "
		"%.1f and %.1f; a taken branch %.1f\n%zu forms of instructions are measured "
		"(--json)\n",
		core->load[0], core->load[1], core->forward[0], core->forward[1], core->taken,
		core->n_forms);
}

static struct rf_error *show(const struct machine *machine, const struct core_facts *core,
			     const struct machine_options *wanted, bool json)
{
	struct rf_error *error =
		json ? write_json(machine, core, stdout)
		     : machine_print(machine, wanted->threads, wanted->n_threads, stdout);
	if (!error && !json)
		error = print_custom(machine, stdout);
	if (!error && !json)
		print_core(core, stdout);
	return output_stream_flush(stdout, error);
}

/* The picture first: a reader of the table may leave early. */
static struct rf_error *measure_and_show(const struct options *given,
					 const struct machine_options *wanted,
					 struct progress *progress)
{
	struct machine machine = {0};
	struct rf_error *warning = NULL, *error = output_file_check(given->machine_svg);
	if (error)
		return error;
	error = machine_get(wanted, &machine, &warning);
	progress_end(progress);
	warn(warning);
	if (error)
		return error;
	struct core_facts core = {0};
	if (wanted->quick)
		core_store_read(&core);
	else
		error = core_store_get(wanted->refresh, &core);
	error = error ?: add_custom(&machine);
	if (!error && given->machine_svg)
		error = report_machine_svg(&machine, given->machine_svg);
	if (!error)
		error = show(&machine, &core, wanted, given->machine_json);
	core_facts_deinit(&core);
	machine_deinit(&machine);
	return error;
}

static struct rf_error *show_machine(const struct options *given)
{
	int *threads = NULL;
	size_t n = 0;
	if (given->threads && !thread_list_parse(given->threads, &threads, &n))
		return rf_error_create(RF_EINPUT,
				       "--threads takes numbers and ranges, such as 1,2,4-8; "
				       "see rfprof machine --help",
				       "--threads: %.60s", given->threads);
	struct progress progress = progress_begin(stderr);
	const struct machine_options wanted = {.refresh = given->refresh,
					       .quick = given->quick,
					       .threads = threads,
					       .n_threads = n,
					       .progress = show_progress,
					       .progress_context = &progress};
	struct rf_error *error = measure_and_show(given, &wanted, &progress);
	free(threads);
	return error;
}

/* Importing and forgetting go with no other option. */
static struct rf_error *keep_or_forget(const struct options *given)
{
	const bool shows = given->refresh || given->quick || given->machine_json ||
			   given->threads || given->machine_svg;
	if (shows || (given->import && given->forget))
		return rf_error_create(RF_EINPUT,
				       "run rfprof machine again for the rest; see rfprof "
				       "machine --help",
				       "%s goes with no other option",
				       given->import ? "--import" : "--forget");
	return output_stream_flush(stdout,
				   given->import ? import(given->import) : forget(given->forget));
}

struct rf_error *machine_command(const struct options *given, const char **words, int *status)
{
	(void)status;
	if (*words)
		return usage_error("rfprof machine takes no argument", *words);
	if (given->machine_svg && strcmp(given->machine_svg, "-") == 0)
		return usage_error("the table goes to standard output", "--svg -");
	return given->import || given->forget ? keep_or_forget(given) : show_machine(given);
}
