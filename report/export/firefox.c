/* The Firefox Profiler's "processed profile", version 48: tables by column, one set for each
 * thread. The categories, and so the colours, are what holds a function back. */
#include "report/export/firefox.h"

#include "base/text.h"
#include "report/export/code.h"
#include "report/json/json_values.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROCESSED_VERSION 48
#define GECKO_VERSION 30
#define RESOURCE_LIBRARY 1

/* One thread while it is written. */
struct thread_tables {
	const struct code *code;
	json_t *strings;
	uint32_t *stack_of_frame;     /* row in the stack table, or PROFILE_NONE */
	uint32_t *func_of_row;        /* row in the func table, or PROFILE_NONE */
	uint32_t *resource_of_module; /* row in the resource table, or PROFILE_NONE */
	uint32_t *used_frames, *used_rows, *used_modules; /* what of these is set */
	uint32_t *path; /* room for the frames from a leaf upward */
	size_t n_frames, n_rows, n_modules;
	json_t *stack_prefix, *stack_frame, *stack_category, *stack_subcategory;
	json_t *frame_address, *frame_func, *frame_category;
	json_t *func_name, *func_resource, *func_file, *func_line;
	json_t *resource_lib, *resource_name;
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
};

static void push(json_t *array, json_t *value)
{
	json_array_append_new(array, value);
}
static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* A column of `n` equal values. */
static json_t *filled(size_t n, json_t *value)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append(array, value);
	json_decref(value);
	return array;
}

static uint64_t string(struct thread_tables *t, const char *text)
{
	push(t->strings, report_json_string(text));
	return json_array_size(t->strings) - 1;
}

/* ---- tables of a thread ---- */

static uint64_t resource(struct thread_tables *t, uint32_t module)
{
	if (t->resource_of_module[module] == PROFILE_NONE) {
		t->resource_of_module[module] = (uint32_t)json_array_size(t->resource_lib);
		t->used_modules[t->n_modules++] = module;
		push(t->resource_lib, integer(module));
		push(t->resource_name, integer(string(t, t->code->profile->modules[module].name)));
	}
	return t->resource_of_module[module];
}

static uint64_t func(struct thread_tables *t, uint32_t row)
{
	const struct code_function *function = &t->code->functions[row];
	if (t->func_of_row[row] != PROFILE_NONE)
		return t->func_of_row[row];
	t->func_of_row[row] = (uint32_t)json_array_size(t->func_name);
	t->used_rows[t->n_rows++] = row;
	push(t->func_name, integer(string(t, function->name)));
	push(t->func_resource, function->module == PROFILE_NONE
				       ? json_integer(-1)
				       : integer(resource(t, function->module)));
	push(t->func_file, function->file[0] ? integer(string(t, function->file)) : json_null());
	push(t->func_line, function->line ? integer(function->line) : json_null());
	return t->func_of_row[row];
}

/* One row of the stack table, and one of the frame table, for each frame of the profile that the
 * thread has. */
static void add_stack(struct thread_tables *t, size_t slot, uint32_t row, uint64_t address,
		      uint32_t prefix)
{
	const enum model_bound bound = t->code->functions[row].bound;
	t->stack_of_frame[slot] = (uint32_t)json_array_size(t->stack_frame);
	t->used_frames[t->n_frames++] = (uint32_t)slot;
	push(t->frame_address, address <= INT64_MAX ? integer(address) : json_integer(-1));
	push(t->frame_func, integer(func(t, row)));
	push(t->frame_category, integer(bound));
	push(t->stack_prefix, prefix == PROFILE_NONE ? json_null() : integer(prefix));
	push(t->stack_frame, integer(t->stack_of_frame[slot]));
	push(t->stack_category, integer(bound));
	push(t->stack_subcategory, json_integer(0));
}

/* Adds what is not there yet, from the outermost frame down. */
static uint32_t stack_of(struct thread_tables *t, uint32_t leaf)
{
	const struct profile *profile = t->code->profile;
	const size_t slot = leaf == PROFILE_NONE ? profile->n_frames : leaf;
	size_t n = 0;
	if (leaf == PROFILE_NONE && t->stack_of_frame[slot] == PROFILE_NONE)
		add_stack(t, slot, code_row_of(t->code, leaf), 0, PROFILE_NONE);
	for (uint32_t at = leaf; at != PROFILE_NONE && t->stack_of_frame[at] == PROFILE_NONE;
	     at = profile->frames[at].parent)
		t->path[n++] = at;
	while (n-- > 0) {
		const struct profile_frame *frame = &profile->frames[t->path[n]];
		add_stack(t, t->path[n], t->code->row_of_frame[t->path[n]], frame->offset,
			  frame->parent == PROFILE_NONE ? frame->parent
							: t->stack_of_frame[frame->parent]);
	}
	return t->stack_of_frame[slot];
}

static struct rf_error *tables_init(struct thread_tables *t, const struct code *code)
{
	const size_t n_frames = code->profile->n_frames, n_modules = code->profile->n_modules;
	*t = (struct thread_tables){.code = code};
	const struct {
		uint32_t **array;
		size_t n;
	} arrays[] = {{&t->stack_of_frame, n_frames},
		      {&t->func_of_row, code->n_functions},
		      {&t->resource_of_module, n_modules},
		      {&t->used_frames, n_frames},
		      {&t->used_rows, code->n_functions},
		      {&t->used_modules, n_modules},
		      {&t->path, n_frames}};
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
		const size_t size = (arrays[i].n + 1) * sizeof(uint32_t);
		*arrays[i].array = malloc(size);
		if (!*arrays[i].array)
			return rf_error_no_memory();
		memset(*arrays[i].array, 0xff, size); /* PROFILE_NONE */
	}
	return NULL;
}

static void tables_deinit(struct thread_tables *t)
{
	free(t->stack_of_frame);
	free(t->func_of_row);
	free(t->resource_of_module);
	free(t->used_frames);
	free(t->used_rows);
	free(t->used_modules);
	free(t->path);
}

/* Only what the thread before has set is cleared: there may be many threads and many frames. */
static void tables_begin(struct thread_tables *t)
{
	while (t->n_frames > 0)
		t->stack_of_frame[t->used_frames[--t->n_frames]] = PROFILE_NONE;
	while (t->n_rows > 0)
		t->func_of_row[t->used_rows[--t->n_rows]] = PROFILE_NONE;
	while (t->n_modules > 0)
		t->resource_of_module[t->used_modules[--t->n_modules]] = PROFILE_NONE;
	json_t **const columns[] = {
		&t->strings,           &t->stack_prefix,  &t->stack_frame, &t->stack_category,
		&t->stack_subcategory, &t->frame_address, &t->frame_func,  &t->frame_category,
		&t->func_name,         &t->func_resource, &t->func_file,   &t->func_line,
		&t->resource_lib,      &t->resource_name,
	};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		*columns[i] = json_array();
}

/* ---- a thread ---- */

/* Takes the columns into a table. */
static void add_tables(json_t *thread, struct thread_tables *t)
{
	const size_t frames = json_array_size(t->frame_func), funcs = json_array_size(t->func_name);
	const size_t resources = json_array_size(t->resource_lib);
	json_object_set_new(thread, "stackTable",
			    json_pack("{s:I, s:o, s:o, s:o, s:o}", "length", (json_int_t)frames,
				      "prefix", t->stack_prefix, "frame", t->stack_frame,
				      "category", t->stack_category, "subcategory",
				      t->stack_subcategory));
	json_object_set_new(
		thread, "frameTable",
		json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "length",
			  (json_int_t)frames, "address", t->frame_address, "inlineDepth",
			  filled(frames, json_integer(0)), "category", t->frame_category,
			  "subcategory", filled(frames, json_integer(0)), "func", t->frame_func,
			  "nativeSymbol", filled(frames, json_null()), "innerWindowID",
			  filled(frames, json_integer(0)), "implementation",
			  filled(frames, json_null()), "line", filled(frames, json_null()),
			  "column", filled(frames, json_null())));
	json_object_set_new(thread, "funcTable",
			    json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "length",
				      (json_int_t)funcs, "name", t->func_name, "isJS",
				      filled(funcs, json_false()), "relevantForJS",
				      filled(funcs, json_false()), "resource", t->func_resource,
				      "fileName", t->func_file, "lineNumber", t->func_line,
				      "columnNumber", filled(funcs, json_null())));
	json_object_set_new(thread, "resourceTable",
			    json_pack("{s:I, s:o, s:o, s:o, s:o}", "length", (json_int_t)resources,
				      "lib", t->resource_lib, "name", t->resource_name, "host",
				      filled(resources, json_null()), "type",
				      filled(resources, json_integer(RESOURCE_LIBRARY))));
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
	const struct profile *profile = t->code->profile;
	json_t *stack = json_array(), *time = json_array(), *weight = json_array(),
	       *cpu = json_array();
	for (size_t i = 0; i < n; i++) {
		const struct profile_sample *sample = &profile->samples[samples[i]];
		const uint64_t ns = code_sample_ns(t->code, sample);
		push(stack, integer(stack_of(t, sample->frame)));
		push(time, json_real((double)sample->time_ns * 1e-6));
		push(weight, json_real((double)ns * 1e-6));
		push(cpu, integer(ns));
	}
	json_object_set_new(thread, "samples",
			    json_pack("{s:I, s:s, s:o, s:o, s:o, s:o}", "length", (json_int_t)n,
				      "weightType", "tracing-ms", "stack", stack, "time", time,
				      "weight", weight, "threadCPUDelta", cpu));
}

static void add_identity(json_t *object, const struct code *code, uint32_t index)
{
	const struct profile_thread *thread = &code->profile->threads[index];
	const struct profile_process *process = code_process(code, index);
	const bool first = thread->tid == thread->pid;
	char *name = code_thread_name(code, index);
	json_object_set_new(object, "name", report_json_string(name ? name : ""));
	json_object_set_new(object, "processName",
			    report_json_string(process && process->command[0] ? process->command
									      : name));
	free(name);
	json_object_set_new(object, "isMainThread", json_boolean(first));
	json_object_set_new(object, "processType", json_string("default"));
	json_object_set_new(object, "pid", json_sprintf("%d", thread->pid));
	json_object_set_new(object, "tid", json_integer(thread->tid));
	json_object_set_new(object, "processStartupTime",
			    json_real(process ? (double)process->start_ns * 1e-6 : 0));
	json_object_set_new(object, "processShutdownTime",
			    process && process->end_ns ? json_real((double)process->end_ns * 1e-6)
						       : json_null());
	json_object_set_new(object, "registerTime",
			    json_real(process ? (double)process->start_ns * 1e-6 : 0));
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
	if (all[i].thread != all[k].thread)
		return all[i].thread < all[k].thread ? -1 : 1;
	if (all[i].time_ns != all[k].time_ns)
		return all[i].time_ns < all[k].time_ns ? -1 : 1;
	return (i > k) - (i < k);
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
		push(*threads, thread_json(&tables, order + i, n));
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
		push(libs, json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:o}", "arch", "x86_64",
				     "name", report_json_string(module->name), "path",
				     report_json_string(module->path), "debugName",
				     report_json_string(module->name), "debugPath",
				     report_json_string(module->path), "breakpadId", "", "codeId",
				     module->build_id[0] ? report_json_string(module->build_id)
							 : json_null()));
	}
	return libs;
}

static json_t *categories_json(void)
{
	json_t *list = json_array();
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		push(list, json_pack("{s:s, s:s, s:[s]}", "name", categories[i].name, "color",
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
	struct rf_error *error = code_init(&code, view);
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
