/* The profile in memory: creation, and rows that are found or added.  profile_save.c and
 * profile_load.c are for the file. */
#include "profile/profile.h"

#include "machine/topology/theory.h"
#include "profile/function_index.h"
#include "profile/profile_schema.h"
#include "profile/roof_index.h"

#include <errno.h>
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
	struct row_index indexes[N_TABLES]; /* of tables whose rows are looked up */
	struct roof_index roof_index;
	struct function_index function_index;
};

/* By what a row of a table is found. */
struct row_key {
	enum table_id table;
	uint64_t (*hash)(const void *row);
	bool (*equal)(const void *have, const void *want);
};

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
static bool index_refresh(struct row_index *index, const struct row_key *key, const char *rows,
			  size_t n_rows)
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
		index_insert(index,
			     key->hash(rows +
				       index->n_indexed * profile_tables[key->table].element),
			     index->n_indexed);
	return true;
}

/* The row that is equal to `want`, or PROFILE_NONE.  Whether memory was enough to look. */
static bool find_row(struct profile *profile, const struct row_key *key, const void *want,
		     uint32_t *row)
{
	struct row_index *index = &((struct profile_private *)profile)->indexes[key->table];
	const struct table *table = &profile_tables[key->table];
	const char *rows = *profile_table_items(profile, table);
	*row = PROFILE_NONE;
	if (!index_refresh(index, key, rows, *profile_table_count(profile, table)))
		return false;
	size_t slot = key->hash(want) & (index->n_slots - 1);
	for (; index->slots[slot] != PROFILE_NONE; slot = (slot + 1) & (index->n_slots - 1))
		if (key->equal(rows + index->slots[slot] * table->element, want)) {
			*row = index->slots[slot];
			break;
		}
	return true;
}

/* Adds a row, whose texts are copied; NULL is "".  PROFILE_NONE when memory is short. */
static uint32_t add_row(struct profile *profile, enum table_id id, const void *row)
{
	const struct table *table = &profile_tables[id];
	char *copy = profile_append_row(profile, table);
	bool done = true;
	if (!copy)
		return PROFILE_NONE;
	memcpy(copy, row, table->element);
	for (size_t c = 0; c < table->n_columns; c++) {
		if (table->columns[c].type != COLUMN_TEXT)
			continue;
		char **text = (char **)(copy + table->columns[c].offset);
		*text = strdup(*text ? *text : "");
		done &= *text != NULL;
	}
	const size_t n = *profile_table_count(profile, table) - 1;
	if (done)
		return (uint32_t)n;
	profile_free_row(table, copy);
	*profile_table_count(profile, table) = n;
	return PROFILE_NONE;
}

static uint32_t find_or_add(struct profile *profile, const struct row_key *key, const void *want)
{
	uint32_t row;
	return !find_row(profile, key, want, &row) || row != PROFILE_NONE
		       ? row
		       : add_row(profile, key->table, want);
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

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	struct profile_private *private = (struct profile_private *)profile;
	profile_free_tables(profile);
	roof_index_deinit(&private->roof_index);
	function_index_deinit(&private->function_index);
	for (int t = 0; t < N_TABLES; t++)
		free(private->indexes[t].slots);
	free(private);
}

static void replace_text(char **text, const char *with)
{
	char *copy = strcmp(*text, with) != 0 ? strdup(with) : NULL;
	if (!copy)
		return;
	free(*text);
	*text = copy;
}

static uint64_t module_hash(const void *row)
{
	return hash_text(((const struct profile_module *)row)->path);
}

/* One path may stand for two files (replaced while the program ran, or between the runs), so build
 * ids that are both known must agree.  An unknown one agrees with any. */
static bool module_equal(const void *a, const void *b)
{
	const struct profile_module *have = a, *want = b;
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

uint32_t profile_module(struct profile *profile, const char *path, const char *build_id)
{
	static const struct row_key key = {MODULES, module_hash, module_equal};
	const struct profile_module want = {(char *)path, (char *)display_name(path),
					    (char *)(build_id ? build_id : "")};
	const uint32_t row = find_or_add(profile, &key, &want);
	if (row == PROFILE_NONE || profile->modules[row].build_id[0])
		return row;
	replace_text(&profile->modules[row].build_id, want.build_id);
	return strcmp(profile->modules[row].build_id, want.build_id) == 0 ? row : PROFILE_NONE;
}

static uint64_t thread_hash(const void *row)
{
	const struct profile_thread *thread = row;
	return mix(((uint64_t)(uint32_t)thread->pid << 32 | (uint32_t)thread->tid) ^
		   (uint64_t)thread->run << 62);
}

static bool thread_equal(const void *a, const void *b)
{
	const struct profile_thread *have = a, *want = b;
	return have->run == want->run && have->pid == want->pid && have->tid == want->tid;
}

uint32_t profile_thread(struct profile *profile, enum profile_run run, int pid, int tid,
			const char *name)
{
	static const struct row_key key = {THREADS, thread_hash, thread_equal};
	const struct profile_thread want = {run, pid, tid, (char *)name};
	const uint32_t row = find_or_add(profile, &key, &want);
	if (row == PROFILE_NONE || !name || !name[0])
		return row;
	/* threads rename themselves: the last name is the one that says most */
	replace_text(&profile->threads[row].name, name);
	return strcmp(profile->threads[row].name, name) == 0 ? row : PROFILE_NONE;
}

static uint64_t frame_hash(const void *row)
{
	const struct profile_frame *frame = row;
	return mix(frame->offset ^ mix((uint64_t)frame->parent << 32 | frame->module));
}

static bool frame_equal(const void *a, const void *b)
{
	const struct profile_frame *have = a, *want = b;
	return have->parent == want->parent && have->module == want->module &&
	       have->offset == want->offset;
}

uint32_t profile_frame(struct profile *profile, uint32_t parent, uint32_t module, uint64_t offset)
{
	static const struct row_key key = {FRAMES, frame_hash, frame_equal};
	return find_or_add(profile, &key, &(struct profile_frame){parent, module, offset});
}

static uint64_t process_hash(const void *row)
{
	const struct profile_process *process = row;
	return mix((uint64_t)process->run << 32 | (uint32_t)process->pid);
}

static bool process_equal(const void *a, const void *b)
{
	const struct profile_process *have = a, *want = b;
	return have->run == want->run && have->pid == want->pid;
}

static const struct row_key process_key = {PROCESSES, process_hash, process_equal};

uint32_t profile_find_process(struct profile *profile, enum profile_run run, int pid)
{
	uint32_t row;
	find_row(profile, &process_key, &(struct profile_process){.run = run, .pid = pid}, &row);
	return row;
}

uint32_t profile_process(struct profile *profile, enum profile_run run, int pid, uint32_t parent)
{
	return find_or_add(profile, &process_key,
			   &(struct profile_process){
				   .run = run,
				   .pid = pid,
				   .parent = parent,
				   .twin = PROFILE_NONE,
				   .module = PROFILE_NONE,
				   .exit_status = -1,
			   });
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
	if (thread != PROFILE_NONE)
		add_row(profile, NATIVE_THREADS,
			&(struct profile_native_thread){thread, (char *)reason});
}

static uint64_t jit_hash(const void *row)
{
	return hash_text(((const struct profile_function *)row)->name);
}

static bool jit_equal(const void *a, const void *b)
{
	const struct profile_function *have = a, *want = b;
	return have->module == want->module && strcmp(have->name, want->name) == 0;
}

uint64_t profile_jit_function(struct profile *profile, const char *name, uint32_t *module)
{
	static const struct row_key key = {FUNCTIONS, jit_hash, jit_equal};
	const uint64_t start = (profile->n_functions + 1) * PROFILE_JIT_STRIDE;
	const struct profile_function want = {.module = profile_module(profile, "[jit]", ""),
					      .start = start,
					      .end = start + PROFILE_JIT_STRIDE,
					      .name = (char *)name};
	const uint32_t row =
		want.module == PROFILE_NONE ? PROFILE_NONE : find_or_add(profile, &key, &want);
	*module = row == PROFILE_NONE ? PROFILE_NONE : want.module;
	return row == PROFILE_NONE ? PROFILE_NONE : profile->functions[row].start;
}

static uint64_t inlined_function_hash(const void *row)
{
	const struct profile_inlined_function *function = row;
	return mix(hash_text(function->name) + function->module) ^ hash_text(function->file);
}

static bool inlined_function_equal(const void *a, const void *b)
{
	const struct profile_inlined_function *have = a, *want = b;
	return have->module == want->module && strcmp(have->name, want->name) == 0 &&
	       strcmp(have->file, want->file) == 0;
}

uint32_t profile_inlined_function(struct profile *profile, uint32_t module, const char *name,
				  const char *file, uint32_t line)
{
	static const struct row_key key = {INLINED_FUNCTIONS, inlined_function_hash,
					   inlined_function_equal};
	return find_or_add(profile, &key,
			   &(struct profile_inlined_function){module, (char *)name, (char *)file,
							      line});
}

static uint64_t inlined_call_hash(const void *row)
{
	const struct profile_inlined_call *call = row;
	return mix(mix((uint64_t)call->parent << 32 | call->function) + call->line) ^
	       hash_text(call->file);
}

static bool inlined_call_equal(const void *a, const void *b)
{
	const struct profile_inlined_call *have = a, *want = b;
	return have->parent == want->parent && have->function == want->function &&
	       have->line == want->line && strcmp(have->file, want->file) == 0;
}

uint32_t profile_inlined_call(struct profile *profile, uint32_t parent, uint32_t function,
			      const char *file, uint32_t line)
{
	static const struct row_key key = {INLINED_CALLS, inlined_call_hash, inlined_call_equal};
	return find_or_add(profile, &key,
			   &(struct profile_inlined_call){parent, function, (char *)file, line});
}

struct rf_error *profile_add_counter(struct profile *profile, const char *quantity,
				     const char *event, const struct profile_counter *given,
				     const char *why)
{
	struct profile_counter counter = *given;
	counter.quantity = (char *)quantity;
	counter.event = (char *)event;
	counter.why = (char *)why;
	return add_row(profile, COUNTERS, &counter) == PROFILE_NONE ? rf_error_no_memory() : NULL;
}

void profile_add_uncounted(struct profile *profile, uint32_t module, const char *reason)
{
	for (size_t i = 0; i < profile->n_uncounted; i++)
		if (profile->uncounted[i].module == module &&
		    strcmp(profile->uncounted[i].reason, reason) == 0)
			return;
	add_row(profile, UNCOUNTED, &(struct profile_uncounted){(char *)reason, module});
}

static struct rf_error *add_roofs(struct profile *profile, enum table_id id, const void *roofs,
				  size_t n)
{
	const size_t size = profile_tables[id].element;
	for (size_t i = 0; i < n; i++)
		if (add_row(profile, id, (const char *)roofs + i * size) == PROFILE_NONE)
			return rf_error_errno(RF_EINTERNAL, ENOMEM, NULL,
					      "cannot keep the machine's roofs");
	return NULL;
}

struct rf_error *profile_take_custom(struct profile *profile, const struct custom_roof *roofs,
				     size_t n)
{
	return add_roofs(profile, CUSTOM_ROOFS, roofs, n);
}

struct rf_error *profile_take_machine(struct profile *profile, const struct machine *machine)
{
	struct rf_error *error = add_roofs(profile, ROOFS, machine->roofs, machine->n_roofs);
	profile_set_fact(profile, "cpu_model", "%s", machine->cpu_model);
	if (machine->microarchitecture)
		profile_set_fact(profile, "microarchitecture", "%s", machine->microarchitecture);
	profile_set_fact(profile, "usable_threads", "%d", machine->usable_threads);
	profile_set_fact(profile, "clock_ghz", "%.4f", machine->clock_ghz);
	if (theory_issue(machine->microarchitecture) > 0)
		profile_set_fact(profile, "issue_width", "%g",
				 theory_issue(machine->microarchitecture));
	if (machine->clock_fp_ghz > 0)
		profile_set_fact(profile, "clock_fp_ghz", "%.4f", machine->clock_fp_ghz);
	return error ? error
		     : profile_take_custom(profile, machine->custom_roofs, machine->n_custom_roofs);
}
