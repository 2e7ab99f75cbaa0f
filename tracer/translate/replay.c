/* Compares what a kept batch depends on with what is there, copies it, and moves its fields. */
#include "tracer/translate/replay.h"

#include "base/array.h"
#include "base/assert.h"
#include "tracer/translate/derive.h"
#include "tracer/translate/transfer.h"

#include <string.h>

#define PAGE 4096
#define BATCH_ALIGNMENT 32         /* of its first byte: what loops keep (block.c) */
#define NEAR 0x7ff00000ull         /* bytes, for all displacements of 32 bits in a batch */
#define LOW_ADDRESSES (1ull << 32) /* below, code has immediates in the place of fields */

/* ---- whether it would be the same ---- */

static bool is_near(const struct arena *arena, uint64_t address)
{
	const uint64_t here = arena_address(arena, (uint32_t)arena->used);
	return (address > here ? address - here : here - address) < NEAR;
}

static bool is_in_place(const struct kept_batch *kept, const struct arena *arena, uint64_t pc)
{
	const uint64_t moved = pc - kept->origin.pc;
	const uint64_t here = arena_address(arena, (uint32_t)arena->used);
	if (moved % PAGE || (here - kept->origin.address) % BATCH_ALIGNMENT)
		return false;
	if (moved && (kept->lowest < LOW_ADDRESSES || kept->lowest + moved < LOW_ADDRESSES))
		return false;
	return kept->nearest > kept->farthest ||
	       (is_near(arena, kept->nearest + moved) && is_near(arena, kept->farthest + moved));
}

/* Blocks lie at the same offsets of the same modules as those that are kept. */
static bool same_modules(const struct kept_batch *kept, const struct translator *translator,
			 uint64_t moved)
{
	const struct code_source *source = &translator->source;
	uint32_t module;
	uint64_t offset;
	for (size_t i = 0; i < kept->n_blocks; i++) {
		const struct code_block *block = &kept->blocks[i];
		source->locate(source->context, block->pc + moved, &module, &offset);
		if (module != block->module || offset != block->module_offset)
			return false;
	}
	return true;
}

/* Whether the same is traced, and there is room for it in the register of groups. */
static bool same_trace(const struct kept_batch *kept, const struct translator *translator,
		       uint64_t moved)
{
	const struct trace_config *trace = translator->trace;
	if (kept->is_traced != !!trace)
		return false;
	return !trace || (kept->classes == trace->classes &&
			  trace->n_groups + kept->n_groups <= TRACE_GROUP_MAX &&
			  same_modules(kept, translator, moved));
}

static bool same_answers(const struct kept_batch *kept, const struct translator *translator,
			 const struct arena *arena, uint64_t pc)
{
	const struct origin here = record_origin(translator, arena, pc);
	for (size_t i = 0; i < kept->n_look_ups; i++) {
		const struct look_up *look_up = &kept->look_ups[i];
		const uint64_t at = pc + (uint64_t)(int64_t)look_up->at;
		if (record_answer(translator, arena, &here, (enum look_up_kind)look_up->kind, at) !=
		    look_up->answer)
			return false;
	}
	return true;
}

static bool same_code(const struct kept_batch *kept, const struct translator *translator,
		      uint64_t moved)
{
	const struct code_source *source = &translator->source;
	const uint8_t *code = kept->code;
	const char *ignored;
	uint8_t bytes[256];
	for (size_t i = 0; i < kept->n_ranges; i++) {
		const struct code_range *range = &kept->ranges[i];
		for (size_t done = 0, n; done < range->size; done += n, code += n) {
			n = range->size - done < sizeof(bytes) ? range->size - done : sizeof(bytes);
			if (source->read(source->context, range->pc + done + moved, bytes, n,
					 &ignored) < n ||
			    memcmp(bytes, code, n) != 0)
				return false;
		}
	}
	return true;
}

/* The recorder gets the values of the slots. */
static bool same_got(const struct kept_batch *kept, struct translator *translator, uint64_t moved)
{
	struct recorder *recorder = kept_recorder(translator->kept);
	recorder->n_values = 0;
	for (size_t i = 0; i < kept->n_got_jumps; i++) {
		const struct got_jump *jump = &kept->got_jumps[i];
		struct got_slot holds;
		if (!got_slot_holds(translator, jump->slot + moved, &holds) ||
		    holds.unresolved != jump->provisional || holds.followed != jump->followed ||
		    (holds.value >= kept->lowest + moved && holds.value < kept->highest + moved) ||
		    !rf_array_push(recorder->values, recorder->n_values, recorder->cap_values,
				   holds.value))
			return false;
	}
	return true;
}

const struct kept_batch *replay_find(struct translator *translator, const struct arena *arena,
				     uint64_t pc, uint64_t key, bool with_entry)
{
	const struct kept_place *place = translator->kept ? kept_find(translator->kept, key) : NULL;
	for (int i = 0; place && i < KEPT_VARIANTS && place->variants[i]; i++) {
		const struct kept_batch *kept = place->variants[i];
		const uint64_t moved = pc - kept->origin.pc;
		if (kept->with_entry == with_entry &&
		    kept->batch_insns == translator->batch_insns && is_in_place(kept, arena, pc) &&
		    same_answers(kept, translator, arena, pc) &&
		    same_trace(kept, translator, moved) && same_code(kept, translator, moved) &&
		    same_got(kept, translator, moved))
			return kept;
	}
	return NULL;
}

/* ---- the copy ---- */

/* How far all that is relative to the origin has moved; unsigned, round the end of the numbers. */
struct move {
	uint64_t pc, address;
	uint32_t start, block, counter, junction, group, number;
};

static struct move move_from(const struct origin *from, const struct origin *to)
{
	return (struct move){
		.pc = to->pc - from->pc,
		.address = to->address - from->address,
		.start = (uint32_t)(to->start - from->start),
		.block = to->block - from->block,
		.counter = to->counter - from->counter,
		.junction = to->junction - from->junction,
		.group = to->group - from->group,
		.number = to->number - from->number,
	};
}

static void add_32(uint8_t *at, uint64_t n)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	value += (uint32_t)n;
	memcpy(at, &value, sizeof(value));
}

static void add_64(uint8_t *at, uint64_t n)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	value += n;
	memcpy(at, &value, sizeof(value));
}

/* From behind a field to the call before a return address. */
static uint32_t way_to_call(const struct batch *batch, const uint8_t *at, uint64_t return_pc)
{
	const uint32_t *call = u64_map_find(&batch->cache->calls, return_pc);
	assert(call);
	return (*call & CALL_OFFSET) - (uint32_t)(at + 4 - batch->arena->host);
}

static void move_field(const struct batch *batch, uint8_t *at, const struct field *field,
		       const struct move *move)
{
	const uint64_t *values = batch->translator->kept->recorder->values;
	uint32_t half;
	switch ((enum field_kind)field->kind) {
	case FIELD_TO_PROGRAM:
		add_32(at, move->pc - move->address);
		return;
	case FIELD_TO_ARENA:
		add_32(at, -(uint64_t)move->start);
		return;
	case FIELD_COUNTER:
		add_32(at, 8ull * move->counter);
		return;
	case FIELD_PC:
		add_64(at, move->pc);
		return;
	case FIELD_GROUP: /* in the low bits, where there is room for it (same_trace) */
		add_32(at, move->group);
		return;
	case FIELD_MINUS_PC:
		add_64(at, -move->pc);
		return;
	case FIELD_PC_LOW:
		half = (uint32_t)(field->pc + move->pc);
		break;
	case FIELD_PC_HIGH:
		half = (uint32_t)((field->pc + move->pc) >> 32);
		break;
	case FIELD_GOT_LOW:
		half = (uint32_t)values[field->pc];
		break;
	case FIELD_GOT_HIGH:
		half = (uint32_t)(values[field->pc] >> 32);
		break;
	case FIELD_TO_CALL:
		half = way_to_call(batch, at, field->pc + move->pc);
		break;
	default:
		return;
	}
	memcpy(at, &half, sizeof(half));
}

static void copy_code(struct batch *batch, const struct kept_batch *kept, const struct move *move)
{
	struct arena *arena = batch->arena;
	for (size_t i = 0; i < kept->n_pieces; i++) {
		struct piece piece = kept->pieces[i];
		piece.cache += move->start;
		piece.block += piece.block == NO_BLOCK ? 0 : move->block;
		batch_push(batch, arena->pieces, arena->n_pieces, arena->cap_pieces, piece);
	}
	arena->is_open = true;
	uint8_t *start = arena->host + arena->used;
	arena_append(arena, kept->bytes, kept->n_bytes);
	for (size_t i = 0; i < kept->n_fields; i++)
		move_field(batch, start + (kept->fields[i].at - kept->origin.start),
			   &kept->fields[i], move);
}

/* The cells of a batch lie all over the maps, and most are not in the processor's caches: they are
 * fetched at once. */
static void fetch_cells(const struct batch *batch, const struct kept_batch *kept,
			const struct move *move)
{
	const struct code_cache *cache = batch->cache;
	for (size_t i = 0; i < kept->n_blocks; i++) {
		u64_map_fetch(&cache->block_of_pc, kept->blocks[i].pc + move->pc);
		u64_map_fetch(&cache->links_to, kept->blocks[i].pc + move->pc);
	}
	for (size_t i = 0; i < kept->n_links; i++)
		u64_map_fetch(&cache->links_to, kept->links[i].target + move->pc);
}

static uint32_t moved_offset(uint32_t offset, const struct move *move)
{
	return offset ? offset + move->start : 0;
}

static uint32_t moved_junction(uint32_t junction, const struct move *move)
{
	return junction == OUTSIDE ? OUTSIDE : junction + move->junction;
}

/* The bytes have been compared. */
static uint8_t *original_code(const struct batch *batch, const struct code_block *block)
{
	const struct code_source *source = &batch->translator->source;
	uint8_t *bytes = malloc(block->size);
	const char *ignored;
	if (bytes)
		(void)source->read(source->context, block->pc, bytes, block->size, &ignored);
	return bytes;
}

static void copy_block(struct batch *batch, const struct code_block *kept, const struct move *move)
{
	struct code_cache *cache = batch->cache;
	const struct code_source *source = &batch->translator->source;
	struct code_block block = *kept;
	block.pc += move->pc;
	block.is_met = false;
	block.arena = (uint8_t)(batch->arena - cache->arenas);
	block.inner = moved_offset(block.inner, move);
	block.body = moved_offset(block.body, move);
	block.called = moved_offset(block.called, move);
	block.entry = moved_offset(block.entry, move);
	block.counted_at = moved_offset(block.counted_at, move);
	block.counter += block.counter == NO_COUNTER ? 0 : move->counter;
	block.in = moved_junction(block.in, move);
	block.out = moved_junction(block.out, move);
	block.bytes = original_code(batch, &block);
	source->locate(source->context, block.pc, &block.module, &block.module_offset);
	batch_push(batch, cache->blocks, cache->n_blocks, cache->cap_blocks, block);
	if (!block.bytes ||
	    !u64_map_set(&cache->block_of_pc, block.pc, (uint32_t)(cache->n_blocks - 1)))
		batch_check(batch, rf_error_no_memory());
	if (!cache->lowest || block.pc < cache->lowest)
		cache->lowest = block.pc;
	if (block.pc + block.size > cache->highest)
		cache->highest = block.pc + block.size;
}

static void copy_blocks(struct batch *batch, const struct kept_batch *kept, const struct move *move)
{
	struct code_cache *cache = batch->cache;
	const struct code_source *source = &batch->translator->source;
	const uint64_t *values = batch->translator->kept->recorder->values;
	const size_t first = cache->n_blocks;
	for (size_t i = 0; i < kept->n_blocks && !batch->failed; i++)
		copy_block(batch, &kept->blocks[i], move);
	for (size_t i = 0; i < kept->n_got_jumps && !batch->failed; i++)
		if (kept->got_jumps[i].followed)
			cache->blocks[first + kept->got_jumps[i].block - kept->origin.block]
				.got_value = values[i];
	for (size_t i = 0; i < kept->n_units; i++) {
		struct unit_counter unit = kept->units[i];
		unit.counter += move->counter;
		source->locate(source->context, kept->unit_pcs[i] + move->pc, &unit.module,
			       &unit.module_offset);
		batch_push(batch, cache->units, cache->n_units, cache->cap_units, unit);
	}
	cache->n_counters += kept->n_counters;
}

/* Which blocks are derived from what (derive.h). */
static void copy_derived(struct batch *batch, const struct kept_batch *kept,
			 const struct move *move)
{
	struct code_cache *cache = batch->cache;
	uint32_t junction;
	for (uint32_t i = 0; i < kept->n_junctions; i++)
		batch_check(batch, derive_add_junction(cache, &junction));
	for (size_t i = 0; i < kept->n_derived; i++) {
		struct derived derived = kept->derived[i];
		derived.block += move->block;
		batch_push(batch, cache->derived, cache->n_derived, cache->cap_derived, derived);
	}
}

/* The fields that wait for their blocks. */
static void copy_links(struct batch *batch, const struct kept_batch *kept, const struct move *move)
{
	const uint64_t *values = batch->translator->kept->recorder->values;
	size_t jump = 0;
	for (size_t i = 0; i < kept->n_links; i++) {
		struct link link = kept->links[i];
		while (jump < kept->n_got_jumps &&
		       (!kept->got_jumps[jump].followed || kept->got_jumps[jump].link < i))
			jump++;
		const bool by_got = jump < kept->n_got_jumps && kept->got_jumps[jump].link == i;
		link.target = by_got ? values[jump] : link.target + move->pc;
		link.site += move->start;
		link.junction = moved_junction(link.junction, move);
		link.arena = (uint8_t)(batch->arena - batch->cache->arenas);
		batch_check(batch, code_cache_add_link(batch->cache, &link));
		const struct wanted wanted = {link.target, (enum link_kind)link.kind};
		batch_push(batch, batch->wanted, batch->n_wanted, batch->cap_wanted, wanted);
		batch->arena->n_open++;
	}
}

/* Where control comes in from elsewhere. */
static void copy_landings(struct batch *batch, const struct kept_batch *kept,
			  const struct move *move)
{
	struct code_cache *cache = batch->cache;
	struct translator *translator = batch->translator;
	const uint32_t arena = (uint32_t)(batch->arena - cache->arenas);
	bool ok = true;
	size_t exclusive = 0;
	for (size_t i = 0; i < kept->n_landings && !batch->failed; i++) {
		struct landing landing = kept->landings[i];
		landing.pc += move->pc;
		uint32_t *cell = &cache->landing_of_cell[landing.pc & 0xffff];
		landing.at += move->start;
		landing.behind += move->start;
		landing.next = *cell;
		landing.arena = (uint8_t)arena;
		batch_push(batch, cache->landings, cache->n_landings, cache->cap_landings, landing);
		if (batch->failed)
			break;
		if (exclusive < kept->n_exclusive && kept->exclusive[exclusive] == i) {
			exclusive++;
			if (code_cache_cell_has(cache, landing.pc, false))
				batch_push(batch, batch->exclusive, batch->n_exclusive,
					   batch->cap_exclusive, landing.pc);
		}
		*cell = (uint32_t)cache->n_landings;
		ok &= u64_map_set(&cache->landing_of_pc, landing.pc, *cell - 1);
	}
	for (size_t i = 0; i < kept->n_calls; i++)
		ok &= u64_map_set(&cache->calls, kept->calls[i].return_pc + move->pc,
				  (kept->calls[i].at + move->start) | arena << CALL_ARENA_SHIFT);
	for (size_t i = 0; i < kept->n_entries; i++) {
		struct new_entry entry = kept->entries[i];
		entry.key += move->pc;
		entry.entry += move->address;
		batch_push(batch, translator->new_entries, translator->n_new_entries,
			   translator->cap_new_entries, entry);
	}
	if (!ok)
		batch_check(batch, rf_error_no_memory());
}

/* The groups of operands get the numbers that their records have. */
static void copy_groups(struct batch *batch, const struct kept_batch *kept, const struct move *move)
{
	struct trace_config *trace = batch->translator->trace;
	const size_t size = kept->n_operands * sizeof(struct trace_operand);
	if (trace)
		trace->n_numbers += kept->n_numbers;
	if (!size)
		return;
	struct trace_operand *operands = malloc(size), *next = operands;
	if (!operands) {
		batch_check(batch, rf_error_no_memory());
		return;
	}
	memcpy(operands, kept->operands, size);
	for (size_t i = 0; i < kept->n_operands; i++) {
		operands[i].number += move->number;
		operands[i].block += move->block;
	}
	for (size_t i = 0; i < kept->n_groups; next += kept->groups[i++].n)
		if (trace_config_add(trace, kept->groups[i].form, next, kept->groups[i].n) ==
		    UINT32_MAX)
			batch_check(batch, rf_error_no_memory());
	free(operands);
}

void replay_batch(struct batch *batch, const struct kept_batch *kept, uint64_t pc)
{
	const struct origin here = record_origin(batch->translator, batch->arena, pc);
	const struct move move = move_from(&kept->origin, &here);
	assert(kept->n_units == kept->n_unit_pcs);
	fetch_cells(batch, kept, &move);
	copy_code(batch, kept, &move);
	copy_derived(batch, kept, &move);
	copy_blocks(batch, kept, &move);
	copy_links(batch, kept, &move);
	copy_landings(batch, kept, &move);
	copy_groups(batch, kept, &move);
	batch->translator->kept->n_replayed++;
}
