/* The profile in memory: creation, and rows that are found or added.  profile_save.c and
 * profile_load.c are for the file. */
#include "profile/profile.h"

#include "base/u64_map.h"
#include "machine/topology/theory.h"
#include "profile/function_index.h"
#include "profile/kernel_names.h"
#include "profile/profile_schema.h"
#include "profile/roof_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows by the hash of their keys; of several that have one hash, the later are at the numbers
 * behind it.  Rows that somebody appended to the public array directly are taken in at the next
 * look-up.
 */
struct row_index {
	struct u64_map rows;
	size_t n_indexed;
};

/* The public struct is the first member: a pointer to one is a pointer to the other. */
struct profile_private {
	struct profile profile;
	struct row_index indexes[N_TABLES]; /* of tables whose rows are looked up */
	struct roof_index roof_index;
	struct function_index function_index;
};

/* By what a row of a table is found: its first `bytes`, without padding, and texts. */
struct row_key {
	enum table_id table;
	size_t bytes;
	size_t n_texts, texts[2]; /* offsets */
	size_t unsure;            /* of a text that agrees with "" as well; 0: none */
};

static const char *text_at(const void *row, size_t offset)
{
	return *(char *const *)((const char *)row + offset);
}

static uint64_t hash_row(const struct row_key *key, const char *row)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t hash = 0;
	uint32_t word;
	for (size_t at = 0; at < key->bytes; at += sizeof(word)) {
		memcpy(&word, row + at, sizeof(word));
		hash = (hash + word + 1) * factor;
	}
	for (size_t i = 0; i < key->n_texts; i++)
		for (const char *c = text_at(row, key->texts[i]); *c; c++)
			hash = (hash + (unsigned char)*c + 1) * factor;
	return hash ^ hash >> 32;
}

static bool is_equal(const struct row_key *key, const char *have, const char *want)
{
	bool equal = memcmp(have, want, key->bytes) == 0;
	for (size_t i = 0; equal && i < key->n_texts; i++)
		equal = strcmp(text_at(have, key->texts[i]), text_at(want, key->texts[i])) == 0;
	if (!equal || !key->unsure)
		return equal;
	const char *a = text_at(have, key->unsure), *b = text_at(want, key->unsure);
	return !a[0] || !b[0] || strcmp(a, b) == 0;
}

/* The row that is equal to `want`, or PROFILE_NONE.  Whether memory was enough to look. */
static bool find_row(struct profile *profile, const struct row_key *key, const void *want,
		     uint32_t *row)
{
	struct row_index *index = &((struct profile_private *)profile)->indexes[key->table];
	const struct table *table = &profile_tables[key->table];
	const char *rows = *profile_table_items(profile, table);
	const size_t n = *profile_table_count(profile, table);
	*row = PROFILE_NONE;
	for (; index->n_indexed < n; index->n_indexed++) {
		uint64_t hash = hash_row(key, rows + index->n_indexed * table->element);
		while (u64_map_find(&index->rows, hash))
			hash++;
		if (!u64_map_set(&index->rows, hash, (uint32_t)index->n_indexed))
			return false;
	}
	const uint32_t *found;
	for (uint64_t hash = hash_row(key, want); (found = u64_map_find(&index->rows, hash));
	     hash++)
		if (is_equal(key, rows + *found * table->element, want)) {
			*row = *found;
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
	free(profile->meanwhile);
	free(profile->kernel_shares);
	roof_index_deinit(&private->roof_index);
	function_index_deinit(&private->function_index);
	for (int t = 0; t < N_TABLES; t++)
		u64_map_deinit(&private->indexes[t].rows);
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

static const char *display_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return path[0] == '[' || !slash || !slash[1] ? path : slash + 1;
}

uint32_t profile_module(struct profile *profile, const char *path, const char *build_id)
{
	/* One path may stand for two files (replaced while the program ran, or between the runs),
	 * so build ids that are both known must agree.  An unknown one agrees with any. */
	static const struct row_key key = {MODULES,
					   0,
					   1,
					   {offsetof(struct profile_module, path)},
					   offsetof(struct profile_module, build_id)};
	const struct profile_module want = {(char *)path, (char *)display_name(path),
					    (char *)(build_id ? build_id : "")};
	const uint32_t row = find_or_add(profile, &key, &want);
	if (row == PROFILE_NONE || profile->modules[row].build_id[0])
		return row;
	replace_text(&profile->modules[row].build_id, want.build_id);
	return strcmp(profile->modules[row].build_id, want.build_id) == 0 ? row : PROFILE_NONE;
}

uint32_t profile_thread(struct profile *profile, enum profile_run run, int pid, int tid,
			const char *name)
{
	static const struct row_key key = {THREADS, sizeof(run) + sizeof(pid) + sizeof(tid)};
	const struct profile_thread want = {run, pid, tid, (char *)name};
	const uint32_t row = find_or_add(profile, &key, &want);
	if (row == PROFILE_NONE || !name || !name[0])
		return row;
	/* threads rename themselves: the last name is the one that says most */
	replace_text(&profile->threads[row].name, name);
	return strcmp(profile->threads[row].name, name) == 0 ? row : PROFILE_NONE;
}

uint32_t profile_frame(struct profile *profile, uint32_t parent, uint32_t module, uint64_t offset)
{
	static const struct row_key key = {FRAMES, sizeof(struct profile_frame)};
	return find_or_add(profile, &key, &(struct profile_frame){parent, module, offset});
}

static const struct row_key process_key = {PROCESSES, offsetof(struct profile_process, parent)};

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

/* NULL: memory is short, or there is no such thread. */
static struct profile_native_thread *native_thread(struct profile *profile, uint32_t thread,
						   const char *reason)
{
	for (size_t i = profile->n_native_threads; i-- > 0;)
		if (profile->native_threads[i].thread == thread)
			return &profile->native_threads[i];
	const struct profile_native_thread new = {thread, (char *)reason, 0};
	return thread != PROFILE_NONE && add_row(profile, NATIVE_THREADS, &new) != PROFILE_NONE
		       ? &profile->native_threads[profile->n_native_threads - 1]
		       : NULL;
}

void profile_native_thread(struct profile *profile, uint32_t thread, const char *reason)
{
	(void)native_thread(profile, thread, reason);
}

void profile_native_thread_ran(struct profile *profile, uint32_t thread, uint64_t native_ns)
{
	struct profile_native_thread *row = native_thread(profile, thread, "");
	if (row)
		row->native_ns = native_ns;
}

uint64_t profile_jit_function(struct profile *profile, const char *name, uint32_t *module)
{
	static const struct row_key key = {
		FUNCTIONS, sizeof(*module), 1, {offsetof(struct profile_function, name)}};
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

uint32_t profile_kernel_frame(struct profile *profile, uint32_t parent, uint32_t offset)
{
	static const struct row_key key = {
		FUNCTIONS, sizeof(uint32_t), 1, {offsetof(struct profile_function, name)}};
	char name[64];
	kernel_name(offset, name, sizeof(name));
	const struct profile_function want = {
		.module = profile_module(profile, PROFILE_KERNEL_MODULE, ""),
		.start = offset,
		.end = offset + 1,
		.name = name,
	};
	if (want.module == PROFILE_NONE || find_or_add(profile, &key, &want) == PROFILE_NONE)
		return PROFILE_NONE;
	return profile_frame(profile, parent, want.module, offset);
}

bool profile_is_kernel(const struct profile *profile, uint32_t module)
{
	return module < profile->n_modules &&
	       strcmp(profile->modules[module].path, PROFILE_KERNEL_MODULE) == 0;
}

struct profile_system_call *profile_system_call(struct profile *profile,
						const struct profile_system_call *key)
{
	static const struct row_key columns = {
		SYSTEM_CALLS, offsetof(struct profile_system_call, n), 0, {0}};
	const uint32_t row = find_or_add(profile, &columns, key);
	return row == PROFILE_NONE ? NULL : &profile->system_calls[row];
}

bool profile_is_kernel_sample(const struct profile *profile, const struct profile_sample *sample)
{
	return sample->frame != PROFILE_NONE &&
	       profile_is_kernel(profile, profile->frames[sample->frame].module);
}

uint32_t profile_inlined_function(struct profile *profile, uint32_t module, const char *name,
				  const char *file, uint32_t line)
{
	static const struct row_key key = {INLINED_FUNCTIONS,
					   sizeof(module),
					   2,
					   {offsetof(struct profile_inlined_function, name),
					    offsetof(struct profile_inlined_function, file)}};
	return find_or_add(profile, &key,
			   &(struct profile_inlined_function){module, (char *)name, (char *)file,
							      line});
}

uint32_t profile_inlined_call(struct profile *profile, uint32_t parent, uint32_t function,
			      const char *file, uint32_t line)
{
	static const struct row_key key = {INLINED_CALLS,
					   offsetof(struct profile_inlined_call, line) +
						   sizeof(line),
					   1,
					   {offsetof(struct profile_inlined_call, file)}};
	return find_or_add(profile, &key,
			   &(struct profile_inlined_call){parent, function, line, (char *)file});
}

uint32_t profile_python_function(struct profile *profile, const char *name, const char *file,
				 uint32_t line)
{
	static const struct row_key key = {PYTHON_FUNCTIONS,
					   sizeof(line),
					   2,
					   {offsetof(struct profile_python_function, name),
					    offsetof(struct profile_python_function, file)}};
	return find_or_add(profile, &key,
			   &(struct profile_python_function){line, (char *)name, (char *)file});
}

uint32_t profile_python_frame(struct profile *profile, uint32_t parent, uint32_t function,
			      uint32_t line, bool entry)
{
	static const struct row_key key = {PYTHON_FRAMES, sizeof(struct profile_python_frame)};
	return find_or_add(profile, &key,
			   &(struct profile_python_frame){parent, function, line, entry});
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

static void take_pages(struct profile *profile, const struct page_costs *pages)
{
	static const char *const sets[] = {"one_set_l2_ns", "one_set_l3_ns", "one_set_memory_ns"};
	for (size_t i = 0; i < 3; i++)
		if (pages->one_set_ns[i] > 0)
			profile_set_fact(profile, sets[i], "%.3f", pages->one_set_ns[i]);
	if (!pages->last_pages)
		return;
	profile_set_fact(profile, "tlb_first_pages", "%u", pages->first_pages);
	profile_set_fact(profile, "tlb_last_pages", "%u", pages->last_pages);
	profile_set_fact(profile, "page_walk_ns", "%.3f", pages->walk_ns[0]);
	profile_set_fact(profile, "page_walk_apart_ns", "%.3f", pages->walk_ns[1]);
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
	if (theory_reorder(machine->microarchitecture) > 0)
		profile_set_fact(profile, "reorder_buffer", "%d",
				 theory_reorder(machine->microarchitecture));
	if (machine->clock_fp_ghz > 0)
		profile_set_fact(profile, "clock_fp_ghz", "%.4f", machine->clock_fp_ghz);
	static const char *const facts[LINE_WAYS] = {"line_transfer_core_ns",
						     "line_transfer_cache_ns",
						     "line_transfer_beyond_ns"};
	for (size_t i = 0; i < machine->n_transfers; i++)
		profile_set_fact(profile, facts[machine->transfers[i].way], "%.2f",
				 machine->transfers[i].best_ns);
	take_pages(profile, &machine->pages);
	return error ? error
		     : profile_take_custom(profile, machine->custom_roofs, machine->n_custom_roofs);
}

static void swap(void *a, void *b, size_t size)
{
	char kept[sizeof(size_t)];
	assert(size <= sizeof(kept));
	memcpy(kept, a, size);
	memcpy(a, b, size);
	memcpy(b, kept, size);
}

void profile_move_rows(struct profile *from, struct profile *to)
{
	for (const struct table *table = profile_tables; table < profile_tables + N_TABLES;
	     table++) {
		if (table == &profile_tables[FACTS] || *profile_table_count(from, table) == 0)
			continue;
		assert(*profile_table_count(to, table) == 0);
		if (table->packed) {
			const struct packed_rows moved = *profile_table_packed(from, table);
			*profile_table_packed(from, table) = (struct packed_rows){0};
			*profile_table_packed(to, table) = moved;
			continue;
		}
		swap(profile_table_items(from, table), profile_table_items(to, table),
		     sizeof(void *));
		swap((char *)from + table->n_items, (char *)to + table->n_items, sizeof(size_t));
		swap((char *)from + table->cap_items, (char *)to + table->cap_items,
		     sizeof(size_t));
	}
	swap(&from->meanwhile, &to->meanwhile, sizeof(void *));
	swap(&from->n_meanwhile, &to->n_meanwhile, sizeof(size_t));
	for (size_t i = 0; i < from->n_facts; i++)
		profile_set_fact(to, from->facts[i].key, "%s", from->facts[i].value);
}
