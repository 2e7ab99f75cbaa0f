/* The callgrind format (valgrind's manual, "Callgrind Format Specification") for KCachegrind and
 * callgrind_annotate: costs of each instruction, and of calls the time that the stacks tell. */
#include "report/export/export.h"

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "report/rows/code.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* From one place of the code into a function. */
struct call {
	uint32_t row; /* of the caller */
	uint32_t module;
	uint64_t offset; /* of the call instruction */
	uint32_t callee; /* row */
	/* Of the call; 0: not known, and written as 1, for callgrind_annotate takes 0 for no call.
	 */
	int64_t executions;
	uint64_t ns;    /* of samples with it on their stack */
	uint32_t frame; /* one that it leads to */
};

struct graph {
	const struct code *code;
	FILE *stream;
	struct call *calls;
	size_t n_calls, cap_calls;
	uint32_t *call_of_frame;   /* that leads to the frame, or PROFILE_NONE */
	uint64_t *with_callees_ns; /* per frame */
	bool *file_named, *object_named, *function_named;
	struct code_rounding memory;
};

/* ---- calls from the stacks ---- */

/* The frame's call: a return address less one lies within the call instruction. */
static struct call describe_call(const struct code *code, uint32_t frame)
{
	const uint32_t parent = code->profile->frames[frame].parent;
	const struct profile_frame *above = &code->profile->frames[parent];
	const struct code_instruction *at = code_instruction_at(code, above->module, above->offset);
	return (struct call){
		.row = code_row_of(code, parent),
		.module = above->module,
		.offset = at ? at->offset : above->offset,
		.callee = code_row_of(code, frame),
		.executions = at && at->is_call ? at->executions : 0,
		.frame = frame,
	};
}

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	return rf_compare(x->row, y->row) ?: rf_compare(x->module, y->module)
		?: rf_compare(x->offset, y->offset) ?: rf_compare(x->callee, y->callee);
}

/* How often an instruction ran is known, but not how often it called which of several functions. */
static void forget_shared_counts(struct graph *graph)
{
	struct call *calls = graph->calls;
	for (size_t i = 1; i < graph->n_calls; i++)
		if (calls[i].module == calls[i - 1].module &&
		    calls[i].offset == calls[i - 1].offset)
			calls[i].executions = calls[i - 1].executions = 0;
}

static struct rf_error *find_calls(struct graph *graph)
{
	const struct profile *profile = graph->code->profile;
	size_t kept = 0;
	for (size_t i = 0; i < profile->n_frames; i++) {
		graph->call_of_frame[i] = PROFILE_NONE;
		if (profile->frames[i].parent != PROFILE_NONE &&
		    !rf_array_push(graph->calls, graph->n_calls, graph->cap_calls,
				   describe_call(graph->code, (uint32_t)i)))
			return rf_error_no_memory();
	}
	if (graph->n_calls)
		qsort(graph->calls, graph->n_calls, sizeof(*graph->calls), compare_calls);
	for (size_t i = 0; i < graph->n_calls; i++) {
		const struct call call = graph->calls[i];
		if (!kept || compare_calls(&graph->calls[kept - 1], &call))
			graph->calls[kept++] = call;
		graph->call_of_frame[call.frame] = (uint32_t)kept - 1;
	}
	graph->n_calls = kept;
	forget_shared_counts(graph);
	return NULL;
}

static void add_times(struct graph *graph)
{
	const struct profile *profile = graph->code->profile;
	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].frame != PROFILE_NONE)
			graph->with_callees_ns[profile->samples[i].frame] +=
				code_sample_ns(graph->code, i);
	for (size_t i = profile->n_frames; i-- > 0;)
		if (profile->frames[i].parent != PROFILE_NONE)
			graph->with_callees_ns[profile->frames[i].parent] +=
				graph->with_callees_ns[i];
}

/* A sample counts once for a call, however often a recursion comes by it. */
static void sum_calls(struct graph *graph)
{
	const struct profile_frame *frames = graph->code->profile->frames;
	for (size_t i = 0; i < graph->code->profile->n_frames; i++) {
		const uint32_t call = graph->call_of_frame[i];
		uint32_t above = frames[i].parent;
		while (above != PROFILE_NONE && graph->call_of_frame[above] != call)
			above = frames[above].parent;
		if (call != PROFILE_NONE && above == PROFILE_NONE)
			graph->calls[call].ns += graph->with_callees_ns[i];
	}
}

/* ---- writing ---- */

/* "(ID) NAME" the first time, then "(ID)". */
static void put_name(const struct graph *graph, const char *key, size_t id, bool *named,
		     const char *name)
{
	fprintf(graph->stream, "%s=(%zu)", key, id + 1);
	if (!*named)
		fprintf(graph->stream, " %s", name);
	*named = true;
	putc('\n', graph->stream);
}

/* prefix: "" or "c", of a callee. */
static struct rf_error *put_place(struct graph *graph, const char *prefix, uint32_t row)
{
	const struct code *code = graph->code;
	const struct code_function *function = &code->functions[row];
	const size_t module =
		function->module == PROFILE_NONE ? code->profile->n_modules : function->module;
	char *object = text_clean(
		module < code->profile->n_modules ? code->profile->modules[module].path : "???");
	char key[8];
	if (!object)
		return rf_error_no_memory();
	snprintf(key, sizeof(key), "%sob", prefix);
	put_name(graph, key, module, &graph->object_named[module], object);
	free(object);
	snprintf(key, sizeof(key), "%s", *prefix ? "cfi" : "fl");
	put_name(graph, key, row, &graph->file_named[row],
		 function->file[0] ? function->file : "???");
	snprintf(key, sizeof(key), "%sfn", prefix);
	put_name(graph, key, row, &graph->function_named[row], function->name);
	return NULL;
}

static void put_costs(struct graph *graph, const struct code_instruction *at)
{
	const struct code *code = graph->code;
	uint64_t bytes;
	if (__builtin_add_overflow((uint64_t)at->load_bytes, (uint64_t)at->store_bytes, &bytes))
		bytes = UINT64_MAX;
	fprintf(graph->stream,
		"0x%" PRIx64 " %" PRIu32 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64,
		at->offset, code->functions[at->row].line, at->time_ns, at->flop, at->executions,
		bytes);
	if (code->view->model->traced)
		fprintf(graph->stream, " %" PRIu64, code_memory_bytes(code, &graph->memory, at));
	putc('\n', graph->stream);
}

static struct rf_error *put_call(struct graph *graph, const struct call *call)
{
	const struct code *code = graph->code;
	struct rf_error *error = call->ns ? put_place(graph, "c", call->callee) : NULL;
	if (error || !call->ns)
		return error;
	fprintf(graph->stream, "calls=%" PRId64 " 0x%" PRIx64 " %" PRIu32 "\n",
		call->executions ? call->executions : 1, code->functions[call->callee].start,
		code->functions[call->callee].line);
	fprintf(graph->stream, "0x%" PRIx64 " %" PRIu32 " %" PRIu64 "\n", call->offset,
		code->functions[call->row].line, call->ns);
	return NULL;
}

static void put_text(FILE *stream, const char *key, const char *text)
{
	char *clean = text ? text_clean(text) : NULL;
	if (clean)
		fprintf(stream, "%s: %s\n", key, clean);
	free(clean);
}

static void put_head(const struct graph *graph)
{
	const struct profile *profile = graph->code->profile;
	FILE *stream = graph->stream;
	fputs("# callgrind format\nversion: 1\ncreator: rfprof\n", stream);
	put_text(stream, "cmd", profile_get_fact(profile, "command"));
	put_text(stream, "desc: Machine", profile_get_fact(profile, "cpu_model"));
	fputs("positions: instr line\n"
	      "event: Time : time, ns\n"
	      "event: Flop : Flop\n"
	      "event: Instructions : Instructions\n"
	      "event: LSBytes : Bytes loaded and stored\n",
	      stream);
	if (graph->code->view->model->traced)
		fputs("event: MemoryBytes : Bytes to and from memory\n", stream);
	fprintf(stream, "events: Time Flop Instructions LSBytes%s\n",
		graph->code->view->model->traced ? " MemoryBytes" : "");
}

/* Sums of the lines below. */
static void put_summary(const struct graph *graph)
{
	const struct code *code = graph->code;
	struct code_rounding rounding = {0};
	uint64_t sums[5] = {0};
	for (size_t i = 0; i < code->n_instructions; i++) {
		const struct code_instruction *at = &code->instructions[i];
		sums[0] += at->time_ns;
		sums[1] += (uint64_t)at->flop;
		sums[2] += (uint64_t)at->executions;
		sums[3] += (uint64_t)at->load_bytes + (uint64_t)at->store_bytes;
		sums[4] += code_memory_bytes(code, &rounding, at);
	}
	fputs("summary:", graph->stream);
	for (size_t i = 0; i < (code->view->model->traced ? 5 : 4); i++)
		fprintf(graph->stream, " %" PRIu64, sums[i]);
	fputs("\n\n", graph->stream);
}

/* One function: its instructions, then its calls; both lists are sorted by it. */
static struct rf_error *put_functions(struct graph *graph)
{
	const struct code *code = graph->code;
	struct rf_error *error = NULL;
	size_t i = 0, c = 0;
	while (!error && (i < code->n_instructions || c < graph->n_calls)) {
		uint32_t row = i < code->n_instructions ? code->instructions[i].row : UINT32_MAX;
		if (c < graph->n_calls && graph->calls[c].row < row)
			row = graph->calls[c].row;
		error = put_place(graph, "", row);
		for (; i < code->n_instructions && code->instructions[i].row == row; i++)
			put_costs(graph, &code->instructions[i]);
		for (; c < graph->n_calls && graph->calls[c].row == row; c++)
			if (!error)
				error = put_call(graph, &graph->calls[c]);
		putc('\n', graph->stream);
	}
	return error;
}

static struct rf_error *put_graph(struct graph *graph)
{
	const size_t n_frames = graph->code->profile->n_frames,
		     n_functions = graph->code->n_functions;
	graph->call_of_frame = malloc((n_frames + 1) * sizeof(*graph->call_of_frame));
	graph->with_callees_ns = calloc(n_frames + 1, sizeof(*graph->with_callees_ns));
	graph->file_named = calloc(n_functions + 1, 1);
	graph->function_named = calloc(n_functions + 1, 1);
	graph->object_named = calloc(graph->code->profile->n_modules + 1, 1);
	if (!graph->call_of_frame || !graph->with_callees_ns || !graph->file_named ||
	    !graph->function_named || !graph->object_named)
		return rf_error_no_memory();
	struct rf_error *error = find_calls(graph);
	if (error)
		return error;
	add_times(graph);
	sum_calls(graph);
	put_head(graph);
	put_summary(graph);
	return put_functions(graph);
}

struct rf_error *export_callgrind(const struct report_view *view, FILE *stream)
{
	struct code code;
	struct graph graph = {.code = &code, .stream = stream};
	struct rf_error *error = code_init(&code, view, NULL);
	if (!error)
		error = put_graph(&graph);
	free(graph.calls);
	free(graph.call_of_frame);
	free(graph.with_callees_ns);
	free(graph.file_named);
	free(graph.function_named);
	free(graph.object_named);
	code_deinit(&code);
	return error;
}
