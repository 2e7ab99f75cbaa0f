/* What a target has counted: put into the profile from the slots of threads that are gone, and at
 * the target's end without what signals had cut in two and counted twice. */
#include "tracer/target/counts.h"

#include "base/array.h"
#include "base/error.h"
#include "base/large_memory.h"
#include "tracer/span/span.h"
#include "tracer/translate/derive.h"
#include "tracer/translate/inherit.h"

#include <string.h>

/* *row gets the number of a new block: that one from its byte `orig` on. */
static struct rf_error *add_block(struct profile *profile, const struct code_block *block,
				  uint16_t orig, uint32_t *row)
{
	assert(orig < block->size);
	struct profile_block new = {
		.module = block->module,
		.start = block->module_offset + orig,
		.size = block->size - orig,
		.bytes = malloc(block->size - orig),
	};
	if (!new.bytes ||
	    !rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks, new)) {
		free(new.bytes);
		return rf_error_no_memory();
	}
	memcpy(new.bytes, block->bytes + orig, new.size);
	*row = (uint32_t)(profile->n_blocks - 1);
	return NULL;
}

/* Slices of a span are rows that follow each other, and each has its own. */
static struct rf_error *add_count(struct target *target, uint32_t block, uint32_t thread,
				  enum copy copy, int64_t n)
{
	const struct profile_count row = {block, thread, n, copy == COPY_FIRST ? n : 0};
	struct profile *profile = target->profile;
	return target->span
		       ? rf_array_add(profile->counts, profile->n_counts, profile->cap_counts, row)
		       : told_threads_count(target->told, profile, row);
}

/* Adds n executions of a whole block; only blocks that ran get a row, which later processes that
 * inherit the block share. */
static struct rf_error *add_whole(struct target *target, struct code_block *block, uint32_t thread,
				  enum copy copy, int64_t n)
{
	struct rf_error *error = NULL;
	if (!block->has_row) {
		error = add_block(target->profile, block, 0, &block->row);
		block->has_row = !error;
		inherit_tell_row(&target->copies[copy], block);
	}
	return error || !n ? error : add_count(target, block->row, thread, copy, n);
}

/* A thread that was killed may have been between two blocks: what is derived can be one too few
 * then. */
static struct rf_error *collect_blocks(struct target *target, enum copy copy,
				       const uint64_t *counters, uint32_t thread)
{
	const struct code_cache *cache = &target->copies[copy].cache;
	int64_t *executions = large_malloc(cache->n_blocks * sizeof(*executions) + 1);
	struct rf_error *error = executions && derive_executions(cache, counters, executions)
					 ? NULL
					 : rf_error_no_memory();
	for (size_t i = 0; !error && i < cache->n_blocks; i++) {
		/* code that was inherited and is not used has no bytes, whatever is in its counters
		 */
		if (executions[i] <= 0 || !cache->blocks[i].bytes)
			continue;
		target->untraced += (double)executions[i] * cache->blocks[i].n_untraced;
		error = add_whole(target, &cache->blocks[i], thread, copy, executions[i]);
	}
	large_free(executions);
	return error;
}

/* They are told of the thread that the executions of their code are told of. */
static struct rf_error *collect_units(struct target *target, const struct code_cache *cache,
				      const uint64_t *counters, uint32_t thread)
{
	struct rf_error *error = NULL;
	struct profile *profile = target->profile;
	const uint32_t told = target->span ? thread : told_threads_of(target->told, thread);
	for (size_t i = 0; !error && i < cache->n_units; i++) {
		const struct unit_counter *unit = &cache->units[i];
		const struct profile_units row = {unit->module, unit->module_offset, told,
						  counters[unit->counter]};
		if (unit->kind == UNIT_WORK && row.n)
			error = rf_array_add(profile->units, profile->n_units, profile->cap_units,
					     row);
	}
	return error;
}

/* ---- system calls ---- */

/* As gate_call_result does, of a thread that does not come there. */
void counts_note_result(uint8_t *slot, uint64_t result)
{
	const uint32_t cell = *slot_u32(slot, G_CALL_CELL);
	if (cell % 8 ||
	    cell > SLOT_BLOCKS - 8 * CALL_COUNTERS) /* the program can write anything there */
		return;
	if ((int64_t)result < 0) {
		++*slot_u64(slot, cell + CALL_FAILED);
		return;
	}
	++*slot_u64(slot, cell + CALL_DONE);
	*slot_u64(slot, cell + CALL_BYTES) += result;
}

static struct rf_error *add_calls(struct target *target, uint32_t slice,
				  const struct profile_system_call *key, const uint64_t *counters)
{
	const uint64_t failed = counters[CALL_FAILED / 8], done = counters[CALL_DONE / 8];
	if (failed + done == 0)
		return NULL;
	if (target->span)
		return slices_add_call(&target->span->slices, slice, key, failed, done,
				       counters[CALL_BYTES / 8]);
	struct profile_system_call *row = profile_system_call(target->profile, key);
	if (!row)
		return rf_error_no_memory();
	row->n += failed + done;
	row->failed += failed;
	row->bytes += counters[CALL_BYTES / 8];
	return NULL;
}

/* The instruction whose counters begin at that offset in the slot, or NULL. */
static const struct unit_counter *site_at(const struct code_cache *cache, uint64_t offset)
{
	for (size_t i = 0; i < cache->n_units; i++)
		if (cache->units[i].kind == UNIT_CALL &&
		    counter_offset(cache->units[i].counter) == offset)
			return &cache->units[i];
	return NULL;
}

/* The call that G_CALL_OUT names, or NULL.  It may be of the other copy than the system call that
 * was made behind it. */
static const struct unit_counter *out_of(const struct target *target, uint64_t out)
{
	const enum copy copy = out & CALL_OUT_PLAIN ? COPY_PLAIN : COPY_FIRST;
	const struct code_cache *cache = &target->copies[copy].cache;
	const uint64_t number = out & ~(uint64_t)CALL_OUT_PLAIN;
	if (!number || number > cache->n_units || cache->units[number - 1].kind != UNIT_OUT)
		return NULL;
	return &cache->units[number - 1];
}

/* What the table of calls has, of instructions of this copy.  The program can write anything there.
 */
static struct rf_error *collect_table(struct target *target, const struct code_cache *cache,
				      int index)
{
	uint8_t *slot = slot_at(target, index);
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < SLOT_N_CALLS - 1; i++) {
		uint64_t *row = slot_u64(slot, SLOT_CALLS + (i << CALL_ROW_SHIFT));
		uint64_t *counters = &row[CALL_ROW_CELL / 8];
		const struct unit_counter *site = *row ? site_at(cache, (uint32_t)*row) : NULL;
		if (!site)
			continue;
		struct profile_system_call key = {.module = site->module,
						  .offset = site->module_offset,
						  .number = (uint32_t)(*row >> 32) - 1,
						  .caller_module = PROFILE_NONE};
		const struct unit_counter *out = out_of(target, counters[CALL_NUMBER / 8]);
		if (out) {
			key.caller_module = out->module;
			key.caller_offset = out->module_offset;
		}
		error = add_calls(target, target->slot_of[index].slice, &key, counters);
		if (target->span) /* the call may go on, and will be counted there */
			counters[CALL_FAILED / 8] = counters[CALL_DONE / 8] =
				counters[CALL_BYTES / 8] = 0;
		else
			memset(row, 0, 1u << CALL_ROW_SHIFT);
	}
	return error;
}

/* What had no room there is told of the number that was asked for last. */
static struct rf_error *collect_calls(struct target *target, const struct code_cache *cache,
				      const uint64_t *counters, int index)
{
	struct rf_error *error = NULL;
	bool called = target->span;
	for (size_t i = 0; !error && i < cache->n_units; i++) {
		const struct unit_counter *site = &cache->units[i];
		if (site->kind != UNIT_CALL || !counters[site->counter])
			continue;
		const struct profile_system_call key = {
			.module = site->module,
			.offset = site->module_offset,
			.number = (uint32_t)counters[site->counter] - 1,
			.caller_module = PROFILE_NONE};
		called = true;
		error = add_calls(target, target->slot_of[index].slice, &key,
				  &counters[site->counter]);
	}
	return error || !called ? error : collect_table(target, cache, index);
}

/* Memory is short, and counts are lost with it: the report says so. */
static void note_loss(struct target *target, struct rf_error *error)
{
	if (error)
		target_give_up(target, "rfprof is out of memory");
	rf_error_destroy(error);
}

static struct rf_error *add_interruption(struct target *target, const struct interruption *cut);

/* What was cut in two belongs to the slice that the thread fills, too. */
static void end_slice(struct target *target, int index, struct slice_rows rows)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < target->n_interruptions && !error; i++) {
		struct interruption *cut = &target->interruptions[i];
		if (cut->thread != target->slot_of[index].thread || !cut->n)
			continue;
		error = add_interruption(target, cut);
		cut->n = 0;
	}
	note_loss(target, error ?: slices_end(&target->span->slices, rows, target->profile));
}

/* What has been counted for a row, in that copy. */
static struct rf_error *collect_row(struct target *target, enum copy copy, const uint64_t *counters,
				    uint32_t row)
{
	return collect_blocks(target, copy, counters, row)
		       ?: collect_units(target, &target->copies[copy].cache, counters, row);
}

/* The same of a thread that has worked for kernels: what it did for each is a row of its own, and
 * is taken off the rest. */
static struct rf_error *collect_shares(struct target *target, enum copy copy,
				       const uint64_t *counters, int index)
{
	const uint32_t end = target->copies[copy].cache.n_counters;
	const uint32_t first = copy == COPY_PLAIN ? FIRST_PLAIN_COUNTER : 0;
	/* indexed as the counters are; what lies before `first` is in no block of this copy */
	uint64_t *rest = calloc(end + 1, sizeof(*rest)), *share = calloc(end + 1, sizeof(*share));
	size_t n;
	const struct kernel_bank *banks = kernel_threads_banks(target->kernels, index, &n);
	struct rf_error *error = rest && share ? NULL : rf_error_no_memory();
	for (uint32_t i = first; !error && i < end; i++)
		rest[i] = counters[i];
	for (size_t b = 0; !error && b < n; b++) {
		for (uint32_t i = first; i < end; i++) {
			share[i] = kernel_bank_count(&banks[b], copy, i - first, counters[i]);
			rest[i] -= share[i];
		}
		error = collect_row(target, copy, share, banks[b].row);
	}
	error = error ?: collect_row(target, copy, rest, target->slot_of[index].thread);
	free(rest);
	free(share);
	return error;
}

void counts_collect(struct target *target, int index)
{
	uint64_t *counters = slot_u64(slot_at(target, index), SLOT_COUNTERS);
	const uint32_t thread = target->slot_of[index].thread;
	const struct slice_rows rows = slices_begin(target->slot_of[index].slice, target->profile);
	for (int copy = 0; copy < N_COPIES; copy++) {
		const struct code_cache *cache = &target->copies[copy].cache;
		const uint32_t first = copy == COPY_PLAIN ? FIRST_PLAIN_COUNTER : 0;
		if (!cache->n_blocks)
			continue;
		note_loss(target, (target->kernels ? collect_shares(target, copy, counters, index)
						   : collect_row(target, copy, counters, thread))
					  ?: collect_calls(target, cache, counters, index));
		memset(counters + first, 0, 8ull * (cache->n_counters - first));
	}
	if (target->span)
		end_slice(target, index, rows);
	if (target->kernels && kernel_threads_incomplete(target->kernels))
		profile_set_fact(target->profile, "kernels_incomplete",
				 "rfprof was out of memory, and work for kernels is missing in "
				 "theirs");
}

/* Place, thread and kind of an interruption in one word, 20 bits for the thread's row. */
static uint64_t interruption_key(const struct interruption *cut)
{
	return (uint64_t)cut->block << 38 | (uint64_t)cut->orig << 22 | (uint64_t)cut->thread << 2 |
	       (uint64_t)cut->copy << 1 | cut->head_counted;
}

void counts_note_interruption(struct target *target, const struct interruption *cut)
{
	struct interruption first = *cut;
	const uint64_t key = interruption_key(cut);
	const bool has_key = cut->thread < 1u << 20 && cut->block < 1u << 26;
	const uint32_t *index = has_key ? u64_map_find(&target->interruption_of_place, key) : NULL;
	if (index) {
		target->interruptions[*index].n++;
		return;
	}
	first.n = 1;
	if (!rf_array_push(target->interruptions, target->n_interruptions,
			   target->cap_interruptions, first))
		note_loss(target, rf_error_no_memory());
	else if (has_key) /* without its place in the map it just gets one more row */
		(void)u64_map_set(&target->interruption_of_place, key,
				  (uint32_t)target->n_interruptions - 1);
}

/* The block is counted as a whole, by its own counter or here, and its tail once more when the
 * thread resumes: so that is taken off. */
static struct rf_error *add_interruption(struct target *target, const struct interruption *cut)
{
	struct code_block *block = &target->copies[cut->copy].cache.blocks[cut->block];
	uint32_t tail;
	if (!cut->n)
		return NULL;
	return add_whole(target, block, cut->thread, cut->copy, cut->head_counted ? 0 : cut->n)
		       ?: add_block(target->profile, block, cut->orig, &tail)
		       ?: add_count(target, tail, cut->thread, cut->copy, -cut->n);
}

/* Adds to a fact that is a sum over all processes.  A program can write any number over its counts.
 */
static void add_to_fact(struct profile *profile, const char *key, const char *format, double n)
{
	const double sum = n + profile_number_fact(profile, key, 0);
	const double most = 0x1p60; /* that a fact can be */
	profile_set_fact(profile, key, format, sum < most ? sum : most);
}

static void note_translation(struct target *target)
{
	uint64_t insns = 0, blocks = 0, hot = 0, spent_ns = 0;
	for (int copy = 0; copy < N_COPIES; copy++) {
		const struct code_cache *cache = &target->copies[copy].cache;
		for (size_t i = cache->n_inherited; i < cache->n_blocks; i++)
			insns += cache->blocks[i].n_insns;
		blocks += cache->n_blocks - cache->n_inherited;
		hot += target->copies[copy].hot.n_blocks;
		spent_ns += target->copies[copy].spent_ns;
	}
	add_to_fact(target->profile, "translated_blocks", "%.0f", (double)blocks);
	add_to_fact(target->profile, "translated_instructions", "%.0f", (double)insns);
	if (hot)
		add_to_fact(target->profile, "hot_blocks", "%.0f", (double)hot);
	if (target->untraced > 0)
		add_to_fact(target->profile, "untraced_accesses", "%.0f", target->untraced);
	add_to_fact(target->profile, "translation_s", "%.6f", (double)spent_ns * 1e-9);
}

void counts_save(struct target *target)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < target->n_interruptions && !error; i++)
		error = add_interruption(target, &target->interruptions[i]);
	note_loss(target, error);
	note_translation(target);
}
