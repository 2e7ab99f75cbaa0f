/* The Firefox Profiler's "processed profile", version 48: tables by column, one set for each
 * thread. The categories, and so the colours, are what holds a function back. */
#include "report/export/export.h"

#include "base/search.h"
#include "report/json/json_values.h"
#include "report/rows/code.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESSED_VERSION 48
#define GECKO_VERSION 30
#define RESOURCE_LIBRARY 1

/* Row of something in a table of the thread that is written; of another `turn`: of one before. */
struct row {
	uint32_t turn, row;
};

/* One thread while it is written. */
struct thread_tables {
	const struct code *code;
	uint32_t turn;            /* which thread, from 1 on */
	struct row *row_of_frame; /* in the stack table and the frame table */
	struct row *row_of_function, *row_of_module;
	uint32_t *path; /* room for the frames from a leaf upward */
	json_t *strings, *stacks, *frames, *functions, *resources;
};

/* The names of bounds and colours that the viewer has; the first is its default. */
static const struct {
	const char *name, *color;
} categories[] = {
	[BOUND_UNKNOWN] = {"Other", "grey"},
	[BOUND_UNCOUNTED] = {"uncounted", "darkgrey"},
	[BOUND_MEMORY] = {"memory bound", "blue"},
	[BOUND_COMPUTE] = {"compute bound", "orange"},
	[BOUND_BALANCED] = {"balanced", "green"},
	[BOUND_ISSUE] = {"issue bound", "yellow"},
	[BOUND_LATENCY] = {"latency bound", "magenta"},
	[BOUND_WAITING] = {"waiting", "grey"},
	[BOUND_KERNEL] = {"kernel", "brown"},
};

static uint32_t n_rows(const json_t *table)
{
	return (uint32_t)json_integer_value(json_object_get(table, "length"));
}

/* A table of that format is "length", then its columns; the row has their values in this order. */
static void add_row(json_t *table, json_t *row)
{
	const char *key;
	json_t *column;
	size_t i = 0;
	json_object_foreach(table, key, column) if (json_is_array(column))
		json_array_append(column, json_array_get(row, i++));
	else if (json_is_integer(column)) json_integer_set(column, json_integer_value(column) + 1);
	json_decref(row);
}

static json_int_t string(struct thread_tables *t, const char *text)
{
	json_array_append_new(t->strings, report_json_string(text));
	return (json_int_t)json_array_size(t->strings) - 1;
}

/* ---- tables of a thread ---- */

/* Whether it has no row yet; then it gets the next one of `table`. */
static bool is_new(const struct thread_tables *t, struct row *row, const json_t *table)
{
	if (row->turn == t->turn)
		return false;
	*row = (struct row){t->turn, n_rows(table)};
	return true;
}

static json_int_t resource(struct thread_tables *t, uint32_t module)
{
	if (is_new(t, &t->row_of_module[module], t->resources))
		add_row(t->resources, json_pack("[I, I, n, i]", (json_int_t)module,
						string(t, t->code->profile->modules[module].name),
						RESOURCE_LIBRARY));
	return t->row_of_module[module].row;
}

static json_int_t func(struct thread_tables *t, uint32_t row)
{
	const struct code_function *function = &t->code->functions[row];
	if (!is_new(t, &t->row_of_function[row], t->functions))
		return t->row_of_function[row].row;
	const json_int_t name = string(t, function->name);
	const json_int_t module =
		function->module == PROFILE_NONE ? -1 : resource(t, function->module);
	json_t *file = function->file[0] ? json_integer(string(t, function->file)) : json_null();
	add_row(t->functions,
		json_pack("[I, b, b, I, o, o, n]", name, 0, 0, module, file,
			  function->line ? json_integer(function->line) : json_null()));
	return t->row_of_function[row].row;
}

/* One row of the stack table, and one of the frame table, for each frame of the profile that the
 * thread has. */
static void add_stack(struct thread_tables *t, size_t slot, uint32_t row, uint64_t address,
		      json_t *prefix)
{
	const int bound = (int)t->code->functions[row].bound;
	if (!is_new(t, &t->row_of_frame[slot], t->stacks))
		return;
	add_row(t->frames, json_pack("[I, i, i, i, I, n, i, n, n, n]",
				     address <= INT64_MAX ? (json_int_t)address : -1, 0, bound, 0,
				     func(t, row), 0));
	add_row(t->stacks,
		json_pack("[o, I, i, i]", prefix, (json_int_t)n_rows(t->stacks), bound, 0));
}

/* Adds what is not there yet, from the outermost frame down. */
static json_int_t stack_of(struct thread_tables *t, uint32_t leaf)
{
	const struct profile *profile = t->code->profile;
	const size_t slot = leaf == PROFILE_NONE ? profile->n_frames : leaf;
	size_t n = 0;
	if (leaf == PROFILE_NONE && t->row_of_frame[slot].turn != t->turn)
		add_stack(t, slot, code_row_of(t->code, leaf), 0, json_null());
	for (uint32_t at = leaf; at != PROFILE_NONE && t->row_of_frame[at].turn != t->turn;
	     at = profile->frames[at].parent)
		t->path[n++] = at;
	while (n-- > 0) {
		const struct profile_frame *frame = &profile->frames[t->path[n]];
		add_stack(t, t->path[n], t->code->row_of_frame[t->path[n]], frame->offset,
			  frame->parent == PROFILE_NONE
				  ? json_null()
				  : json_integer(t->row_of_frame[frame->parent].row));
	}
	return t->row_of_frame[slot].row;
}

static struct rf_error *tables_init(struct thread_tables *t, const struct code *code)
{
	const size_t n_frames = code->profile->n_frames;
	*t = (struct thread_tables){
		.code = code,
		.row_of_frame = calloc(n_frames + 1, sizeof(*t->row_of_frame)),
		.row_of_function = calloc(code->n_functions + 1, sizeof(*t->row_of_function)),
		.row_of_module = calloc(code->profile->n_modules + 1, sizeof(*t->row_of_module)),
		.path = malloc((n_frames + 1) * sizeof(*t->path)),
	};
	return t->row_of_frame && t->row_of_function && t->row_of_module && t->path
		       ? NULL
		       : rf_error_no_memory();
}

static void tables_deinit(struct thread_tables *t)
{
	free(t->row_of_frame);
	free(t->row_of_function);
	free(t->row_of_module);
	free(t->path);
}

static void tables_begin(struct thread_tables *t)
{
	t->turn++;
	t->strings = json_array();
	t->stacks = json_pack("{s:i, s:[], s:[], s:[], s:[]}", "length", 0, "prefix", "frame",
			      "category", "subcategory");
	t->frames =
		json_pack("{s:i, s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:[], s:[]}",
			  "length", 0, "address", "inlineDepth", "category", "subcategory", "func",
			  "nativeSymbol", "innerWindowID", "implementation", "line", "column");
	t->functions = json_pack("{s:i, s:[], s:[], s:[], s:[], s:[], s:[], s:[]}", "length", 0,
				 "name", "isJS", "relevantForJS", "resource", "fileName",
				 "lineNumber", "columnNumber");
	t->resources = json_pack("{s:i, s:[], s:[], s:[], s:[]}", "length", 0, "lib", "name",
				 "host", "type");
}

/* ---- a thread ---- */

static void add_tables(json_t *thread, struct thread_tables *t)
{
	json_object_set_new(thread, "stackTable", t->stacks);
	json_object_set_new(thread, "frameTable", t->frames);
	json_object_set_new(thread, "funcTable", t->functions);
	json_object_set_new(thread, "resourceTable", t->resources);
	json_object_set_new(thread, "nativeSymbols",
			    json_pack("{s:i, s:[], s:[], s:[], s:[]}", "length", 0, "libIndex",
				      "address", "name", "functionSize"));
	json_object_set_new(thread, "markers",
			    json_pack("{s:i, s:[], s:[], s:[], s:[], s:[], s:[]}", "length", 0,
				      "data", "name", "startTime", "endTime", "phase", "category"));
	json_object_set_new(thread, "stringArray", t->strings);
}

static void add_samples(json_t *thread, struct thread_tables *t, const uint32_t *samples, size_t n)
{
	json_t *rows = json_pack("{s:i, s:s, s:[], s:[], s:[], s:[]}", "length", 0, "weightType",
				 "tracing-ms", "stack", "time", "weight", "threadCPUDelta");
	for (size_t i = 0; i < n; i++) {
		const struct profile_sample *sample = &t->code->profile->samples[samples[i]];
		const uint64_t ns = code_sample_ns(t->code, samples[i]);
		add_row(rows, json_pack("[I, f, f, I]", stack_of(t, sample->frame),
					(double)sample->time_ns * 1e-6, (double)ns * 1e-6,
					(json_int_t)ns));
	}
	json_object_set_new(thread, "samples", rows);
}

static void add_identity(json_t *object, const struct code *code, uint32_t index)
{
	const struct profile_thread *thread = &code->profile->threads[index];
	const struct profile_process *process = code_process(code, index);
	const double start = process ? (double)process->start_ns * 1e-6 : 0;
	char *name = code_thread_name(code, index);
	set_text(object, "name", name ? name : "");
	set_text(object, "processName", process && process->command[0] ? process->command : name);
	free(name);
	set_flag(object, "isMainThread", thread->tid == thread->pid);
	set_text(object, "processType", "default");
	json_object_set_new(object, "pid", json_sprintf("%d", thread->pid));
	set_integer(object, "tid", true, thread->tid);
	set_real(object, "processStartupTime", start);
	set_real(object, "processShutdownTime",
		 process && process->end_ns ? (double)process->end_ns * 1e-6 : NAN);
	set_real(object, "registerTime", start);
	json_object_set_new(object, "unregisterTime", json_null());
	json_object_set_new(object, "pausedRanges", json_array());
}

static json_t *thread_json(struct thread_tables *t, const uint32_t *samples, size_t n)
{
	json_t *thread = json_object();
	tables_begin(t);
	add_identity(thread, t->code, t->code->profile->samples[samples[0]].thread);
	add_samples(thread, t, samples, n);
	add_tables(thread, t);
	return thread;
}

/* By thread, then by time. */
static int compare_samples(const void *a, const void *b, void *profile)
{
	const struct profile_sample *all = ((const struct profile *)profile)->samples;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	return rf_compare(all[i].thread, all[k].thread)
		?: rf_compare(all[i].time_ns, all[k].time_ns) ?: rf_compare(i, k);
}

static struct rf_error *threads_json(const struct code *code, json_t **threads)
{
	const struct profile *profile = code->profile;
	struct thread_tables tables;
	uint32_t *order = malloc((profile->n_samples + 1) * sizeof(*order));
	struct rf_error *error = tables_init(&tables, code);
	if (!error && !order)
		error = rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_samples; i++)
		order[i] = (uint32_t)i;
	if (!error)
		qsort_r(order, profile->n_samples, sizeof(*order), compare_samples,
			(void *)profile);
	*threads = json_array();
	for (size_t i = 0, n; !error && i < profile->n_samples; i += n) {
		for (n = 1;
		     i + n < profile->n_samples &&
		     profile->samples[order[i + n]].thread == profile->samples[order[i]].thread;)
			n++;
		json_array_append_new(*threads, thread_json(&tables, order + i, n));
	}
	tables_deinit(&tables);
	free(order);
	return error;
}

/* ---- the whole ---- */

static json_t *libs_json(const struct profile *profile)
{
	json_t *libs = json_array();
	for (size_t i = 0; i < profile->n_modules; i++) {
		const struct profile_module *module = &profile->modules[i];
		json_t *name = report_json_string(module->name),
		       *path = report_json_string(module->path);
		json_array_append_new(
			libs, json_pack("{s:s, s:O, s:O, s:o, s:o, s:s, s:o}", "arch", "x86_64",
					"name", name, "path", path, "debugName", name, "debugPath",
					path, "breakpadId", "", "codeId",
					report_json_string(module->build_id[0] ? module->build_id
									       : NULL)));
	}
	return libs;
}

static json_t *categories_json(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:[s]}", "name", categories[i].name, "color",
					categories[i].color, "subcategories", "Other"));
	return list;
}

/* Milliseconds since 1970. */
static double start_time(const struct profile *profile)
{
	const char *date = profile_get_fact(profile, "date");
	struct tm tm = {0};
	return date && strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (double)timegm(&tm) * 1e3 : 0;
}

static json_t *meta_json(const struct profile *profile)
{
	const char *kernel = profile_get_fact(profile, "kernel"),
		   *cpu = profile_get_fact(profile, "cpu_model");
	const char *program = profile_get_fact(profile, "program"),
		   *command = profile_get_fact(profile, "command");
	return json_pack("{s:f, s:f, s:i, s:i, s:i, s:i, s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:o, "
			 "s:o, s:o, s:[], s:b, s:b, s:b, s:b, "
			 "s:b, s:{s:s, s:s, s:s}}",
			 "interval", profile_number_fact(profile, "sample_period_ns", 1e6) * 1e-6,
			 "startTime", start_time(profile), "processType", 0, "stackwalk", 1,
			 "version", GECKO_VERSION, "preprocessedProfileVersion", PROCESSED_VERSION,
			 "product", report_json_string(program ? program : "rfprof"),
			 "importedFrom", "rfprof", "abi", "x86_64", "misc", "", "platform", "Linux",
			 "toolkit", "", "oscpu", report_json_string(kernel ? kernel : "Linux"),
			 "CPUName", report_json_string(cpu ? cpu : ""), "arguments",
			 report_json_string(command ? command : ""), "categories",
			 categories_json(), "markerSchema", "debug", 0, "symbolicated", 1,
			 "usesOnlyOneStackType", 1, "doesNotUseFrameImplementation", 1,
			 "sourceCodeIsNotOnSearchfox", 1, "sampleUnits", "time", "ms", "eventDelay",
			 "ms", "threadCPUDelta", "ns");
}

struct rf_error *export_firefox(const struct report_view *view, FILE *stream)
{
	struct code code;
	struct rf_error *error = code_init(&code, view, NULL);
	json_t *threads = NULL, *root = NULL;
	if (!error)
		error = threads_json(&code, &threads);
	if (!error)
		root = json_pack("{s:o, s:o, s:[], s:O}", "meta", meta_json(view->profile), "libs",
				 libs_json(view->profile), "pages", "threads", threads);
	if (!error && !root)
		error = rf_error_no_memory();
	if (root) {
		json_dumpf(root, stream, JSON_COMPACT);
		putc('\n', stream);
	}
	json_decref(threads);
	json_decref(root);
	code_deinit(&code);
	return error;
}
