/* The profile by instruction and by function of its call stacks. */
#include "report/rows/code.h"

#include "base/array.h"
#include "base/search.h"
#include "base/text.h"
#include "insn/insn_cache.h"
#include "profile/function_index.h"
#include "report/model/model_tally.h"
#include "report/rows/view.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LENGTH 15 /* bytes of an instruction (Intel SDM vol. 2, 2.3.11) */

/* ---- functions ---- */

static void name_function(struct code *code, size_t row)
{
	const struct profile *profile = code->profile;
	struct code_function *function = &code->functions[row];
	function->module = PROFILE_NONE;
	if (row < profile->n_functions) {
		const struct profile_function *source = &profile->functions[row];
		function->module = source->module;
		function->line = source->line;
		function->start = source->start;
		function->name = text_clean(source->name && source->name[0] ? source->name : "?");
		function->file = text_clean(source->file ? source->file : "");
		return;
	}
	char *name = NULL;
	if (row < profile->n_functions + profile->n_modules) {
		function->module = (uint32_t)(row - profile->n_functions);
		if (asprintf(&name, "[unknown in %s]", profile->modules[function->module].name) < 0)
			name = NULL;
	} else
		name = strdup("[unknown]");
	function->name = name ? text_clean(name) : NULL;
	function->file = strdup("");
	free(name);
}

/* Which row a function of the model has. */
static size_t row_of_model(const struct code *code, const struct model_function *function)
{
	const struct profile *profile = code->profile;
	if (function->function != PROFILE_NONE)
		return function->function;
	for (size_t m = 0; m < profile->n_modules; m++)
		/* the same text, not an equal one */
		if (function->module == profile->modules[m].name)
			return profile->n_functions + m;
	return code->n_functions - 1;
}

static void take_bounds(struct code *code)
{
	const struct model *model = code->view->model;
	for (size_t i = model->n_functions; i-- > 0;) {
		const struct model_function *f = &model->functions[i];
		struct code_function *function = &code->functions[row_of_model(code, f)];
		if (function->bound == BOUND_UNKNOWN || f->place.bound != BOUND_UNCOUNTED)
			function->bound = f->place.bound;
	}
}

static struct rf_error *init_functions(struct code *code)
{
	const struct profile *profile = code->profile;
	code->row_of_frame = profile_places_of_frames(profile);
	code->functions = calloc(profile_n_places(profile), sizeof(*code->functions));
	if (!code->functions || !code->row_of_frame)
		return rf_error_no_memory();
	code->n_functions = profile_n_places(profile);
	for (size_t row = 0; row < code->n_functions; row++) {
		name_function(code, row);
		if (!code->functions[row].name || !code->functions[row].file)
			return rf_error_no_memory();
	}
	take_bounds(code);
	return NULL;
}

uint32_t code_row_of(const struct code *code, uint32_t frame)
{
	return frame == PROFILE_NONE ? (uint32_t)code->n_functions - 1 : code->row_of_frame[frame];
}

/* ---- instructions ---- */

static bool is_wanted(const struct code *code, uint32_t module, uint64_t offset)
{
	return !code->wanted || code->wanted[profile_place_at(code->profile, module, offset, NULL)];
}

/* Whether its first or its last byte is wanted. */
static bool has_wanted(const struct code *code, const struct profile_block *block)
{
	const uint64_t last = block->start + block->size - 1;
	uint64_t end;
	if (!code->wanted ||
	    code->wanted[profile_place_at(code->profile, block->module, block->start, &end)])
		return true;
	return last - block->start >= end - block->start && is_wanted(code, block->module, last);
}

static struct rf_error *push(struct code *code, const struct code_instruction *part)
{
	return rf_array_add(code->instructions, code->n_instructions, code->cap_instructions,
			    *part);
}

static int64_t times(int64_t n, uint64_t value)
{
	int64_t product;
	if (__builtin_mul_overflow(n, value > INT64_MAX ? INT64_MAX : (int64_t)value, &product))
		return n < 0 ? INT64_MIN : INT64_MAX;
	return product;
}

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static void read_work(const struct work *work, int64_t n, struct code_instruction *part)
{
	struct tally once = {0}, unit = {0};
	model_tally_fixed(&once, work);
	part->executions = n;
	part->flop = times(n, once.flop);
	part->load_bytes = times(n, once.load_bytes);
	part->store_bytes = times(n, once.store_bytes);
	part->length = work->length;
	part->is_call = work->insn_class == INSN_CALL;
	if (work->units == UNITS_NONE)
		return;
	model_tally_unit(work, &unit);
	part->unit_flop = (uint32_t)unit.flop;
	part->unit_load_bytes = (uint32_t)unit.load_bytes;
	part->unit_store_bytes = (uint32_t)unit.store_bytes;
}

static struct rf_error *push_block(struct code *code, struct insn_cache *insns,
				   const struct profile_block *block, int64_t n)
{
	struct rf_error *error = NULL;
	if (!has_wanted(code, block))
		return NULL;
	for (uint32_t at = 0; !error && at < block->size;) {
		const struct work *work =
			insn_cache_work(insns, block->bytes + at, block->size - at);
		struct code_instruction part = {.module = block->module,
						.offset = block->start + at,
						.bytes = block->bytes + at};
		if (!work)
			break;
		read_work(work, n, &part);
		error = push(code, &part);
		at += work->length;
	}
	return error;
}

static struct rf_error *push_blocks(struct code *code)
{
	const struct profile *profile = code->profile;
	int64_t *n = calloc(profile->n_blocks + 1, sizeof(*n));
	bool *counted = calloc(profile->n_blocks + 1, sizeof(*counted));
	struct insn_cache *insns = insn_cache_create();
	struct rf_error *error = n && counted && insns ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_counts; i++) {
		add(&n[profile->counts[i].block], profile->counts[i].n);
		counted[profile->counts[i].block] = true;
	}
	for (size_t b = 0; !error && b < profile->n_blocks; b++)
		if (counted[b])
			error = push_block(code, insns, &profile->blocks[b], n[b]);
	free(n);
	free(counted);
	insn_cache_destroy(insns);
	return error;
}

static struct rf_error *push_samples(struct code *code)
{
	const struct profile *profile = code->profile;
	struct {
		uint64_t ns, n;
	} *of_frame = calloc(profile->n_frames + 1, sizeof(*of_frame));
	struct rf_error *error = of_frame ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		size_t frame = sample->frame == PROFILE_NONE ? profile->n_frames : sample->frame;
		of_frame[frame].ns += code_sample_ns(code, i);
		of_frame[frame].n++;
	}
	for (size_t i = 0; !error && i <= profile->n_frames; i++) {
		struct code_instruction part = {.module = PROFILE_NONE,
						.time_ns = of_frame[i].ns,
						.n_samples = of_frame[i].n};
		if (i < profile->n_frames) {
			part.module = profile->frames[i].module;
			part.offset = profile->frames[i].offset;
		}
		if (part.n_samples && is_wanted(code, part.module, part.offset))
			error = push(code, &part);
	}
	free(of_frame);
	return error;
}

static struct rf_error *push_traffic(struct code *code)
{
	static const enum traffic events[] = {TRAFFIC_MEM_READ, TRAFFIC_MEM_WRITE_ALLOCATE,
					      TRAFFIC_MEM_WRITE_BACK, TRAFFIC_MEM_NON_TEMPORAL};
	const struct profile *profile = code->profile;
	const struct model *model = code->view->model;
	struct rf_error *error = NULL;
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while (!error && model->traced && (row = packed_reader_next(&reader))) {
		struct code_instruction part = {.module = row->module, .offset = row->offset};
		for (size_t e = 0; e < sizeof(events) / sizeof(*events); e++)
			part.memory_lines += row->lines[events[e]];
		if (part.memory_lines && row->class < model->traced_classes &&
		    is_wanted(code, row->module, row->offset))
			error = push(code, &part);
	}
	return error;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct code_instruction *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

static int compare_rows(const void *a, const void *b)
{
	const struct code_instruction *x = a, *y = b;
	return rf_compare(x->row, y->row) ?: compare_addresses(a, b);
}

static void merge_into(struct code_instruction *to, const struct code_instruction *part)
{
	add(&to->executions, part->executions);
	add(&to->flop, part->flop);
	add(&to->load_bytes, part->load_bytes);
	add(&to->store_bytes, part->store_bytes);
	to->time_ns += part->time_ns;
	to->n_samples += part->n_samples;
	to->memory_lines += part->memory_lines;
	if (!part->length)
		return;
	to->bytes = part->bytes;
	to->length = part->length;
	to->is_call = part->is_call;
	to->unit_flop = part->unit_flop;
	to->unit_load_bytes = part->unit_load_bytes;
	to->unit_store_bytes = part->unit_store_bytes;
}

/* One row for each address; they are sorted by it. */
static void merge_instructions(struct code *code)
{
	struct code_instruction *all = code->instructions;
	size_t kept = 0;
	for (size_t i = 0; i < code->n_instructions; i++) {
		if (kept && compare_addresses(&all[kept - 1], &all[i]) == 0)
			merge_into(&all[kept - 1], &all[i]);
		else
			all[kept++] = all[i];
	}
	code->n_instructions = kept;
}

static int64_t at_least_0(int64_t value)
{
	return value < 0 ? 0 : value;
}

/* The instruction of a row of units, or NULL. */
static struct code_instruction *instruction_of(const struct code *code,
					       const struct profile_units *row)
{
	const struct code_instruction key = {.module = row->module, .offset = row->offset};
	const size_t n = rf_search(code->n_instructions, i,
				   compare_addresses(&code->instructions[i], &key) < 0);
	struct code_instruction *found = n < code->n_instructions ? &code->instructions[n] : NULL;
	return found && compare_addresses(found, &key) == 0 ? found : NULL;
}

/* Adds the work of masked lanes, repeated strings and tiles, which depends on the run.  Then no
 * count may be below 0. */
static void add_units(struct code *code)
{
	const struct profile *profile = code->profile;
	for (size_t i = 0; i < profile->n_units; i++) {
		const struct profile_units *row = &profile->units[i];
		struct code_instruction *at = instruction_of(code, row);
		const int64_t n = row->n < INT64_MAX ? (int64_t)row->n : INT64_MAX;
		if (!at)
			continue;
		add(&at->flop, times(n, at->unit_flop));
		add(&at->load_bytes, times(n, at->unit_load_bytes));
		add(&at->store_bytes, times(n, at->unit_store_bytes));
	}
	for (size_t i = 0; i < code->n_instructions; i++) {
		struct code_instruction *at = &code->instructions[i];
		at->executions = at_least_0(at->executions);
		at->flop = at_least_0(at->flop);
		at->load_bytes = at_least_0(at->load_bytes);
		at->store_bytes = at_least_0(at->store_bytes);
	}
}

static struct rf_error *init_instructions(struct code *code)
{
	struct rf_error *error = push_blocks(code);
	if (!error)
		error = push_samples(code);
	if (!error)
		error = push_traffic(code);
	if (error)
		return error;
	if (code->n_instructions)
		qsort(code->instructions, code->n_instructions, sizeof(*code->instructions),
		      compare_addresses);
	merge_instructions(code);
	add_units(code);
	for (size_t i = 0; i < code->n_instructions; i++) {
		struct code_instruction *at = &code->instructions[i];
		at->row = (uint32_t)profile_place_at(code->profile, at->module, at->offset, NULL);
	}
	if (code->n_instructions)
		qsort(code->instructions, code->n_instructions, sizeof(*code->instructions),
		      compare_rows);
	return NULL;
}

const struct code_instruction *code_instruction_at(const struct code *code, uint32_t module,
						   uint64_t offset)
{
	const struct code_instruction key = {
		.row = (uint32_t)profile_place_at(code->profile, module, offset, NULL),
		.module = module,
		.offset = offset,
	};
	size_t before =
		rf_search(code->n_instructions, i, compare_rows(&code->instructions[i], &key) <= 0);
	for (; before > 0; before--) { /* a sample may lie between, where nothing was counted */
		const struct code_instruction *at = &code->instructions[before - 1];
		if (at->module != module || offset - at->offset >= MAX_LENGTH)
			return NULL;
		if (offset - at->offset < at->length)
			return at;
	}
	return NULL;
}

/* ---- numbers and names ---- */

uint64_t code_sample_ns(const struct code *code, size_t sample)
{
	assert(sample < code->profile->n_samples);
	return code->view->model->sample_ns[sample];
}

uint64_t code_round(struct code_rounding *rounding, uint64_t value, uint64_t factor,
		    uint64_t divisor)
{
	assert(divisor > 0);
	rounding->sum += (unsigned __int128)value * factor;
	const uint64_t until = (uint64_t)((rounding->sum + divisor / 2) / divisor);
	const uint64_t part = until - rounding->told;
	rounding->told = until;
	return part;
}

uint64_t code_memory_bytes(const struct code *code, struct code_rounding *rounding,
			   const struct code_instruction *instruction)
{
	const unsigned classes = code->view->model->traced_classes;
	if (!classes)
		return 0;
	return code_round(rounding, instruction->memory_lines, CACHE_LINE * CACHE_CLASSES, classes);
}

const struct profile_process *code_process(const struct code *code, uint32_t thread)
{
	const uint32_t row = code->view->model->process_of_thread[thread];
	return row == PROFILE_NONE ? NULL : &code->profile->processes[row];
}

char *code_thread_name(const struct code *code, uint32_t thread)
{
	const struct profile_thread *row = &code->profile->threads[thread];
	const struct profile_process *process = code_process(code, thread);
	char *name = NULL;
	if (row->name && row->name[0])
		return text_clean(row->name);
	if (process && process->command[0])
		return text_clean(process->command);
	return asprintf(&name, "thread %d", row->tid) < 0 ? NULL : name;
}

struct rf_error *code_init(struct code *code, const struct report_view *view, const bool *wanted)
{
	*code = (struct code){.view = view, .wanted = wanted, .profile = view->profile};
	struct rf_error *error = wanted ? NULL : init_functions(code);
	return error ? error : init_instructions(code);
}

void code_deinit(struct code *code)
{
	for (size_t row = 0; row < code->n_functions; row++) {
		free(code->functions[row].name);
		free(code->functions[row].file);
	}
	free(code->functions);
	free(code->row_of_frame);
	free(code->instructions);
}
