/* The profile in memory: creation, and rows that are found or added.  profile_save.c and
 * profile_load.c are for the file. */
#include "profile/profile.h"

#include "base/array.h"
#include "profile/function_index.h"
#include "profile/roof_index.h"

#include <stdlib.h>
#include <string.h>

/* Open-addressing hash from a row's key to its number.  Rows that somebody appended to the public
 * array directly are taken in at the next look-up. */
struct row_index {
	uint32_t *slots; /* row number or PROFILE_NONE */
	size_t n_slots;  /* a power of two, or 0 */
	size_t n_indexed;
};

/* The public struct is the first member: a pointer to one is a pointer to the other. */
struct profile_private {
	struct profile profile;
	struct row_index modules, threads, frames, processes, jit, inlined_functions, inlined_calls;
	struct roof_index roof_index;
	struct function_index function_index;
};

typedef uint64_t row_hash_fn(const struct profile *profile, size_t row);
typedef bool row_equal_fn(const struct profile *profile, size_t row, const void *key);

/* splitmix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0;
	for (; *text; text++)
		hash = mix(hash + (unsigned char)*text + 1);
	return hash;
}

static void index_insert(struct row_index *index, uint64_t hash, size_t row)
{
	size_t slot = hash & (index->n_slots - 1);
	while (index->slots[slot] != PROFILE_NONE)
		slot = (slot + 1) & (index->n_slots - 1);
	index->slots[slot] = (uint32_t)row;
}

/* Makes the table big enough for `n_rows` + 1 at half load and takes in rows not yet known. */
static bool index_refresh(struct row_index *index, const struct profile *profile, size_t n_rows,
			  row_hash_fn *hash_row)
{
	if ((n_rows + 1) * 2 > index->n_slots) {
		size_t n_slots = index->n_slots ? index->n_slots : 64;
		while (n_slots < (n_rows + 1) * 4)
			n_slots *= 2;
		uint32_t *slots = malloc(n_slots * sizeof(*slots));
		if (!slots)
			return false;
		memset(slots, 0xff, n_slots * sizeof(*slots));
		free(index->slots);
		*index = (struct row_index){.slots = slots, .n_slots = n_slots};
	}
	for (; index->n_indexed < n_rows; index->n_indexed++)
		index_insert(index, hash_row(profile, index->n_indexed), index->n_indexed);
	return true;
}

static uint32_t index_find(const struct row_index *index, const struct profile *profile,
			   uint64_t hash, row_equal_fn *equal, const void *key)
{
	size_t slot = hash & (index->n_slots - 1);
	for (; index->slots[slot] != PROFILE_NONE; slot = (slot + 1) & (index->n_slots - 1))
		if (equal(profile, index->slots[slot], key))
			return index->slots[slot];
	return PROFILE_NONE;
}

struct profile *profile_create(void)
{
	struct profile_private *private = calloc(1, sizeof(*private));
	if (!private)
		return NULL;
	private->profile.roof_index = &private->roof_index;
	private->profile.function_index = &private->function_index;
	return &private->profile;
}

static void free_rows(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_modules; i++) {
		free(profile->modules[i].path);
		free(profile->modules[i].name);
		free(profile->modules[i].build_id);
	}
	for (size_t i = 0; i < profile->n_threads; i++)
		free(profile->threads[i].name);
	for (size_t i = 0; i < profile->n_functions; i++) {
		free(profile->functions[i].name);
		free(profile->functions[i].file);
	}
	for (size_t i = 0; i < profile->n_blocks; i++)
		free(profile->blocks[i].bytes);
	for (size_t i = 0; i < profile->n_uncounted; i++)
		free(profile->uncounted[i].reason);
	for (size_t i = 0; i < profile->n_processes; i++) {
		free(profile->processes[i].command);
		free(profile->processes[i].native_reason);
	}
	for (size_t i = 0; i < profile->n_native_threads; i++)
		free(profile->native_threads[i].reason);
	for (size_t i = 0; i < profile->n_objects; i++) {
		free(profile->objects[i].name);
		free(profile->objects[i].file);
	}
	for (size_t i = 0; i < profile->n_counters; i++) {
		free(profile->counters[i].quantity);
		free(profile->counters[i].event);
		free(profile->counters[i].why);
	}
	for (size_t i = 0; i < profile->n_inlined_functions; i++) {
		free(profile->inlined_functions[i].name);
		free(profile->inlined_functions[i].file);
	}
	for (size_t i = 0; i < profile->n_inlined_calls; i++)
		free(profile->inlined_calls[i].file);
	for (size_t i = 0; i < profile->n_facts; i++) {
		free(profile->facts[i].key);
		free(profile->facts[i].value);
	}
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	struct profile_private *private = (struct profile_private *)profile;
	free_rows(profile);
	free(profile->modules);
	free(profile->threads);
	free(profile->functions);
	free(profile->blocks);
	free(profile->counts);
	free(profile->units);
	free(profile->frames);
	free(profile->samples);
	free(profile->uncounted);
	free(profile->facts);
	free(profile->roofs);
	free(profile->custom_roofs);
	free(profile->processes);
	free(profile->native_threads);
	free(profile->traffic);
	free(profile->objects);
	free(profile->object_traffic);
	free(profile->strides);
	for (size_t i = 0; i < profile->n_lines; i++)
		free(profile->lines[i].file);
	free(profile->lines);
	free(profile->inlined_functions);
	free(profile->inlined_calls);
	free(profile->inlined_code);
	free(profile->working_sets);
	free(profile->counters);
	free(profile->counter_places);
	free(profile->sums);
	free(profile->sum_classes);
	free(profile->sum_flop);
	free(profile->sum_threads);
	free(profile->sum_times);
	for (size_t i = 0; i < profile->n_sum_traffic; i++)
		free(profile->sum_traffic[i].lines);
	free(profile->sum_traffic);
	free(profile->sum_objects);
	free(profile->sum_strides);
	free(profile->sum_working_sets);
	free(profile->sum_quantities);
	roof_index_deinit(&private->roof_index);
	function_index_deinit(&private->function_index);
	free(private->modules.slots);
	free(private->threads.slots);
	free(private->frames.slots);
	free(private->processes.slots);
	free(private->jit.slots);
	free(private->inlined_functions.slots);
	free(private->inlined_calls.slots);
	free(private);
}

static uint64_t module_hash(const struct profile *profile, size_t row)
{
	return hash_text(profile->modules[row].path);
}

/* One path may stand for two files (replaced while the program ran, or between the runs), so build
 * ids that are both known must agree.  An unknown one agrees with any. */
static bool module_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_module *have = &profile->modules[row], *want = key;
	if (strcmp(have->path, want->path) != 0)
		return false;
	return !have->build_id[0] || !want->build_id[0] ||
	       strcmp(have->build_id, want->build_id) == 0;
}

static const char *display_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return path[0] == '[' || !slash || !slash[1] ? path : slash + 1;
}

static uint32_t add_module(struct profile *profile, const char *path, const char *build_id)
{
	struct profile_module module = {strdup(path), strdup(display_name(path)), strdup(build_id)};
	if (module.path && module.name && module.build_id &&
	    rf_array_push(profile->modules, profile->n_modules, profile->cap_modules, module))
		return (uint32_t)(profile->n_modules - 1);
	free(module.path);
	free(module.name);
	free(module.build_id);
	return PROFILE_NONE;
}

uint32_t profile_module(struct profile *profile, const char *path, const char *build_id)
{
	struct row_index *index = &((struct profile_private *)profile)->modules;
	struct profile_module key = {(char *)path, NULL, (char *)(build_id ? build_id : "")};
	if (!index_refresh(index, profile, profile->n_modules, module_hash))
		return PROFILE_NONE;
	uint32_t row = index_find(index, profile, hash_text(path), module_equal, &key);
	if (row == PROFILE_NONE)
		return add_module(profile, path, key.build_id);
	struct profile_module *module = &profile->modules[row];
	if (!module->build_id[0] && key.build_id[0]) {
		char *copy = strdup(key.build_id);
		if (!copy)
			return PROFILE_NONE;
		free(module->build_id);
		module->build_id = copy;
	}
	return row;
}

static uint64_t thread_key_hash(const struct profile_thread *thread)
{
	return mix(((uint64_t)(uint32_t)thread->pid << 32 | (uint32_t)thread->tid) ^
		   (uint64_t)thread->run << 62);
}

static uint64_t thread_hash(const struct profile *profile, size_t row)
{
	return thread_key_hash(&profile->threads[row]);
}

static bool thread_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_thread *have = &profile->threads[row], *want = key;
	return have->run == want->run && have->pid == want->pid && have->tid == want->tid;
}

uint32_t profile_thread(struct profile *profile, enum profile_run run, int pid, int tid,
			const char *name)
{
	struct row_index *index = &((struct profile_private *)profile)->threads;
	struct profile_thread key = {run, pid, tid, NULL};
	if (!index_refresh(index, profile, profile->n_threads, thread_hash))
		return PROFILE_NONE;
	uint32_t row = index_find(index, profile, thread_key_hash(&key), thread_equal, &key);
	if (row != PROFILE_NONE && (!name || !name[0]))
		return row;
	key.name = strdup(name ? name : "");
	if (!key.name)
		return PROFILE_NONE;
	if (row !=
	    PROFILE_NONE) { /* threads rename themselves: the last name is the one that says most */
		free(profile->threads[row].name);
		profile->threads[row].name = key.name;
		return row;
	}
	if (rf_array_push(profile->threads, profile->n_threads, profile->cap_threads, key))
		return (uint32_t)(profile->n_threads - 1);
	free(key.name);
	return PROFILE_NONE;
}

static uint64_t frame_key_hash(const struct profile_frame *frame)
{
	return mix(frame->offset ^ mix((uint64_t)frame->parent << 32 | frame->module));
}

static uint64_t frame_hash(const struct profile *profile, size_t row)
{
	return frame_key_hash(&profile->frames[row]);
}

static bool frame_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_frame *have = &profile->frames[row], *want = key;
	return have->parent == want->parent && have->module == want->module &&
	       have->offset == want->offset;
}

uint32_t profile_frame(struct profile *profile, uint32_t parent, uint32_t module, uint64_t offset)
{
	struct row_index *index = &((struct profile_private *)profile)->frames;
	struct profile_frame key = {parent, module, offset};
	if (!index_refresh(index, profile, profile->n_frames, frame_hash))
		return PROFILE_NONE;
	uint32_t row = index_find(index, profile, frame_key_hash(&key), frame_equal, &key);
	if (row != PROFILE_NONE)
		return row;
	if (!rf_array_push(profile->frames, profile->n_frames, profile->cap_frames, key))
		return PROFILE_NONE;
	return (uint32_t)(profile->n_frames - 1);
}

static uint64_t process_key_hash(const struct profile_process *process)
{
	return mix((uint64_t)process->run << 32 | (uint32_t)process->pid);
}

static uint64_t process_hash(const struct profile *profile, size_t row)
{
	return process_key_hash(&profile->processes[row]);
}

static bool process_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_process *have = &profile->processes[row], *want = key;
	return have->run == want->run && have->pid == want->pid;
}

uint32_t profile_find_process(struct profile *profile, enum profile_run run, int pid)
{
	struct row_index *index = &((struct profile_private *)profile)->processes;
	const struct profile_process key = {.run = run, .pid = pid};
	if (!index_refresh(index, profile, profile->n_processes, process_hash))
		return PROFILE_NONE;
	return index_find(index, profile, process_key_hash(&key), process_equal, &key);
}

uint32_t profile_process(struct profile *profile, enum profile_run run, int pid, uint32_t parent)
{
	uint32_t row = profile_find_process(profile, run, pid);
	if (row != PROFILE_NONE)
		return row;
	struct profile_process fresh = {
		.run = run,
		.pid = pid,
		.parent = parent,
		.twin = PROFILE_NONE,
		.module = PROFILE_NONE,
		.exit_status = -1,
		.command = strdup(""),
		.native_reason = strdup(""),
	};
	if (fresh.command && fresh.native_reason &&
	    rf_array_push(profile->processes, profile->n_processes, profile->cap_processes, fresh))
		return (uint32_t)(profile->n_processes - 1);
	free(fresh.command);
	free(fresh.native_reason);
	return PROFILE_NONE;
}

static void replace_text(char **text, const char *with)
{
	char *copy = strcmp(*text, with) != 0 ? strdup(with) : NULL;
	if (!copy)
		return;
	free(*text);
	*text = copy;
}

void profile_process_command(struct profile *profile, uint32_t process, const char *command)
{
	if (process != PROFILE_NONE)
		replace_text(&profile->processes[process].command, command);
}

void profile_native_process(struct profile *profile, int pid, const char *reason)
{
	uint32_t row = profile_find_process(profile, RUN_COUNTED, pid);
	if (row != PROFILE_NONE && !profile->processes[row].native_reason[0])
		replace_text(&profile->processes[row].native_reason, reason);
}

void profile_native_thread(struct profile *profile, uint32_t thread, const char *reason)
{
	for (size_t i = profile->n_native_threads; i-- > 0;)
		if (profile->native_threads[i].thread == thread)
			return;
	struct profile_native_thread row = {thread, strdup(reason)};
	if (thread != PROFILE_NONE && row.reason &&
	    rf_array_push(profile->native_threads, profile->n_native_threads,
			  profile->cap_native_threads, row))
		return;
	free(row.reason);
}

/* Rows of functions that are none of the module's have an equal hash, and are never equal. */
static uint64_t jit_hash(const struct profile *profile, size_t row)
{
	const struct profile_function *function = &profile->functions[row];
	bool jit = strcmp(profile->modules[function->module].path, "[jit]") == 0;
	return jit ? hash_text(function->name) : row;
}

static bool jit_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_function *have = &profile->functions[row], *want = key;
	return have->module == want->module && strcmp(have->name, want->name) == 0;
}

uint64_t profile_jit_function(struct profile *profile, const char *name, uint32_t *module)
{
	struct row_index *index = &((struct profile_private *)profile)->jit;
	struct profile_function key = {.module = profile_module(profile, "[jit]", ""),
				       .name = (char *)name};
	*module = key.module;
	if (key.module == PROFILE_NONE ||
	    !index_refresh(index, profile, profile->n_functions, jit_hash))
		return *module = PROFILE_NONE;
	uint32_t row = index_find(index, profile, hash_text(name), jit_equal, &key);
	if (row != PROFILE_NONE)
		return profile->functions[row].start;
	key.start = (profile->n_functions + 1) * PROFILE_JIT_STRIDE;
	key.end = key.start + PROFILE_JIT_STRIDE;
	key.name = strdup(name);
	key.file = strdup("");
	if (key.name && key.file &&
	    rf_array_push(profile->functions, profile->n_functions, profile->cap_functions, key))
		return key.start;
	free(key.name);
	free(key.file);
	return *module = PROFILE_NONE;
}

static uint64_t inlined_function_key_hash(const struct profile_inlined_function *function)
{
	return mix(hash_text(function->name) + function->module) ^ hash_text(function->file);
}

static uint64_t inlined_function_hash(const struct profile *profile, size_t row)
{
	return inlined_function_key_hash(&profile->inlined_functions[row]);
}

static bool inlined_function_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_inlined_function *have = &profile->inlined_functions[row], *want = key;
	return have->module == want->module && strcmp(have->name, want->name) == 0 &&
	       strcmp(have->file, want->file) == 0;
}

uint32_t profile_inlined_function(struct profile *profile, uint32_t module, const char *name,
				  const char *file, uint32_t line)
{
	struct row_index *index = &((struct profile_private *)profile)->inlined_functions;
	struct profile_inlined_function key = {module, (char *)name, (char *)file, line};
	if (!index_refresh(index, profile, profile->n_inlined_functions, inlined_function_hash))
		return PROFILE_NONE;
	uint32_t row = index_find(index, profile, inlined_function_key_hash(&key),
				  inlined_function_equal, &key);
	if (row != PROFILE_NONE)
		return row;
	key.name = strdup(name);
	key.file = strdup(file);
	if (key.name && key.file &&
	    rf_array_push(profile->inlined_functions, profile->n_inlined_functions,
			  profile->cap_inlined_functions, key))
		return (uint32_t)(profile->n_inlined_functions - 1);
	free(key.name);
	free(key.file);
	return PROFILE_NONE;
}

static uint64_t inlined_call_key_hash(const struct profile_inlined_call *call)
{
	return mix(mix((uint64_t)call->parent << 32 | call->function) + call->line) ^
	       hash_text(call->file);
}

static uint64_t inlined_call_hash(const struct profile *profile, size_t row)
{
	return inlined_call_key_hash(&profile->inlined_calls[row]);
}

static bool inlined_call_equal(const struct profile *profile, size_t row, const void *key)
{
	const struct profile_inlined_call *have = &profile->inlined_calls[row], *want = key;
	return have->parent == want->parent && have->function == want->function &&
	       have->line == want->line && strcmp(have->file, want->file) == 0;
}

uint32_t profile_inlined_call(struct profile *profile, uint32_t parent, uint32_t function,
			      const char *file, uint32_t line)
{
	struct row_index *index = &((struct profile_private *)profile)->inlined_calls;
	struct profile_inlined_call key = {parent, function, (char *)file, line};
	if (!index_refresh(index, profile, profile->n_inlined_calls, inlined_call_hash))
		return PROFILE_NONE;
	uint32_t row =
		index_find(index, profile, inlined_call_key_hash(&key), inlined_call_equal, &key);
	if (row != PROFILE_NONE)
		return row;
	key.file = strdup(file);
	if (key.file && rf_array_push(profile->inlined_calls, profile->n_inlined_calls,
				      profile->cap_inlined_calls, key))
		return (uint32_t)(profile->n_inlined_calls - 1);
	free(key.file);
	return PROFILE_NONE;
}

struct rf_error *profile_add_counter(struct profile *profile, const char *quantity,
				     const char *event, const struct profile_counter *given,
				     const char *why)
{
	struct profile_counter counter = *given;
	counter.quantity = strdup(quantity);
	counter.event = strdup(event);
	counter.why = strdup(why);
	if (counter.quantity && counter.event && counter.why &&
	    rf_array_push(profile->counters, profile->n_counters, profile->cap_counters, counter))
		return NULL;
	free(counter.quantity);
	free(counter.event);
	free(counter.why);
	return rf_error_no_memory();
}

void profile_add_uncounted(struct profile *profile, uint32_t module, const char *reason)
{
	for (size_t i = 0; i < profile->n_uncounted; i++)
		if (profile->uncounted[i].module == module &&
		    strcmp(profile->uncounted[i].reason, reason) == 0)
			return;
	struct profile_uncounted row = {strdup(reason), module};
	if (row.reason &&
	    rf_array_push(profile->uncounted, profile->n_uncounted, profile->cap_uncounted, row))
		return;
	free(row.reason);
}
