/* Emits the blocks of a batch: what leads in, records of calls of allocators, the instructions with
 * their counting and checks, and loops that keep their counter in a register. */
#include "tracer/translate/block.h"

#include "base/assert.h"
#include "tracer/process/allocators.h"
#include "tracer/translate/copy.h"
#include "tracer/translate/count.h"
#include "tracer/translate/landing.h"
#include "tracer/translate/trace_emit.h"
#include "tracer/translate/transfer.h"
#include "tracer/translate/way.h"

#include <stdlib.h>
#include <string.h>

static void copy_original(struct batch *batch, struct code_block *block)
{
	for (size_t i = 0; i < batch->n_items; i++)
		block->size += batch->items[i].insn.length;
	block->bytes = code_cache_bytes(batch->cache, block->size);
	if (!block->bytes) {
		batch_check(batch, rf_error_no_memory());
		return;
	}
	uint8_t *out = block->bytes;
	for (size_t i = 0; i < batch->n_items; i++) {
		const struct decoded *insn = &batch->items[i].insn;
		memcpy(out, insn->bytes, insn->length);
		out += insn->length;
	}
}

static uint32_t block_counter(struct code_cache *cache)
{
	struct put_aside *aside = &cache->block_counters;
	if (aside->at == aside->end) {
		*aside = (struct put_aside){cache->n_counters, cache->n_counters + BLOCK_COUNTERS};
		cache->n_counters += BLOCK_COUNTERS;
	}
	return aside->at++;
}

static void open_block(struct batch *batch, const struct layout_block *layout)
{
	struct code_cache *cache = batch->cache;
	struct code_block block = {
		.pc = batch->items[0].insn.pc,
		.n_insns = layout->n,
		.arena = (uint8_t)(batch->arena - cache->arenas),
		.counter = layout->is_derived ? NO_COUNTER : block_counter(cache),
		.dead = batch->items[0].dead,
		.falls_in = !layout->first_of_run || batch->fell_in,
		.in = layout->in,
		.out = layout->out,
	};
	const struct code_source *source = &batch->translator->source;
	source->locate(source->context, block.pc, &block.module, &block.module_offset);
	copy_original(batch, &block);
	batch->block = (uint32_t)cache->n_blocks;
	batch_push(batch, cache->blocks, cache->n_blocks, cache->cap_blocks, block);
	if (!pc_index_set(&cache->block_of_pc, block.pc, batch->block))
		batch_check(batch, rf_error_no_memory());
	if (!cache->lowest || block.pc < cache->lowest)
		cache->lowest = block.pc;
	if (block.pc + block.size > cache->highest)
		cache->highest = block.pc + block.size;
}

#define LOOP_GROWS 8 /* bytes: the counter, and a longer branch */
#define MOST_NOPS 18 /* bytes; more would cost more than a jump over them */

/* Loops keep the alignment that their compiler gave them, up to half a cache line; and what fits
 * into a line, `size` bytes or 0 for not known, lies within one: else each turn fetches two. */
static void keep_alignment(struct batch *batch, uint64_t pc, size_t size)
{
	struct arena *arena = batch->arena;
	const uint64_t here = arena_address(arena, (uint32_t)arena->used);
	size_t n = (pc - here) & 31;
	if (size <= CACHE_LINE && (here + n) % CACHE_LINE + size > CACHE_LINE)
		n = -here & (CACHE_LINE - 1);
	const bool is_jumped = n > MOST_NOPS;
	struct label behind = {0};
	batch_piece(batch, PIECE_STEP, 0);
	if (is_jumped)
		emit_jump_short(arena, &behind);
	arena_append_nops(arena, n - (is_jumped ? 2 : 0));
	label_bind(arena, &behind);
}

static void emit_insns(struct batch *batch, struct trace_block *trace)
{
	const enum piece_kind kind = trace->kind;
	const struct planned *items = batch->items;
	const size_t n = batch->n_items;
	batch->got_value = got_value(batch);
	const bool counts =
		kind != PIECE_LOOP && batch->cache->blocks[batch->block].counter != NO_COUNTER;
	const struct count_place place =
		counts ? count_place(batch) : (struct count_place){n + 1, false};
	uint16_t orig = 0;
	batch->count_in_transfer = place.before == n;
	for (size_t i = 0; i < n && !batch->failed; i++) {
		trace_resume_piece(batch, trace, orig);
		trace_before(batch, trace, i, orig);
		if (items[i].insn.flow != FLOW_NEXT && kind != PIECE_LOOP) {
			trace_restore(batch, trace);
			batch_piece(batch, kind, orig);
		}
		if (i == place.before && place.flags_dead)
			emit_count_flags(batch);
		else if (i == place.before)
			emit_count_borrowing(batch, count_register(batch), orig);
		if (i == place.before)
			batch_piece(batch, PIECE_CLEAN, orig);
		if (items[i].insn.flow == FLOW_NEXT) {
			emit_plain(batch, &items[i], orig);
			trace_behind(batch, trace, i, orig);
		} else if (kind != PIECE_LOOP) {
			emit_transfer(batch, &items[i], orig);
		}
		orig = (uint16_t)(orig + items[i].insn.length);
	}
	if (items[n - 1].insn.flow == FLOW_NEXT) {
		batch_piece(batch, PIECE_STEP, orig);
		trace_restore(batch, trace);
	}
}

/* A block that jumps back to itself keeps its counter in a register that it does not use: a
 * counter in memory would make every iteration wait for the store of the one before.  Returns the
 * register, or NO_REGISTER when the block is none or uses them all. */
static enum reg loop_register(const struct batch *batch)
{
	const struct decoded *last = &batch->items[batch->n_items - 1].insn;
	unsigned used = 1u << RSP;
	if (last->flow != FLOW_BRANCH || last->target != batch->items[0].insn.pc)
		return NO_REGISTER;
	for (size_t i = 0; i < batch->n_items; i++) {
		const struct decoded *insn = &batch->items[i].insn;
		if (emit_units_possible(insn) ||
		    (insn->rip_relative && !in_reach(batch->arena, insn->target)))
			return NO_REGISTER;
		used |= decode_used_registers(insn);
	}
	return free_register(used, any_register, N_REGISTERS(any_register));
}

static void emit_loop(struct batch *batch, struct trace_block *trace)
{
	struct arena *arena = batch->arena;
	const enum reg reg = trace->loop_register;
	struct code_block *block = &batch->cache->blocks[batch->block];
	const struct decoded *last = &batch->items[batch->n_items - 1].insn;
	const uint32_t counter = counter_offset(block->counter);
	for (size_t i = 0; i < batch->n_items; i++)
		rf_assert_dear(!(decode_used_registers(&batch->items[i].insn) >> reg & 1));
	struct label head = {0};
	batch_piece(batch, PIECE_CLEAN, 0);
	borrow_register(batch, reg, G_SPILL_LOOP);
	trace_save(batch, trace);
	batch_piece(batch, PIECE_STEP, 0);
	emit_gs_load(arena, reg, counter);
	keep_alignment(batch, block->pc, batch->translator->trace ? 0 : block->size + LOOP_GROWS);
	label_bind(arena, &head);
	trace_resume_piece(batch, trace, 0);
	emit_lea(arena, reg, mem_at(reg, 1));
	block->counted_at = (uint32_t)arena->used;
	emit_insns(batch, trace);
	emit_branch(arena, branch_condition(last), &head);
	batch_piece(batch, PIECE_STEP, 0);
	emit_gs_store(arena, reg, counter);
	give_register_back(batch, reg, G_SPILL_LOOP);
	trace_restore(batch, trace);
}

/* Emits what a call that has just been emitted needs behind it. */
static void emit_due_landing(struct batch *batch, uint8_t dead)
{
	emit_landing(batch, batch->landing_due, dead == DEAD_ALL);
	batch->landing_due = 0;
}

/* ---- allocators ---- */

/* The bit for argument `number` as a factor of the size. */
static uint32_t size_bit(uint8_t number)
{
	return number < NO_ARGUMENT ? (uint32_t)ALLOCATION_SIZE_1 << number : 0;
}

/* What the gate needs to know of a function (tracer/gate/protocol.h). */
static uint32_t description(int number)
{
	const struct allocator *function = &allocators[number];
	uint32_t bits = (uint32_t)number | size_bit(function->size);
	if (function->action == ALLOCATOR_REMAPS) /* there it is the new size */
		bits |= function->n_arguments == 3 ? ALLOCATION_THREE : 0;
	else
		bits |= size_bit(function->times);
	if (function->n_arguments == 2)
		bits |= ALLOCATION_TWO;
	if (function->n_arguments == 3)
		bits |= ALLOCATION_THREE;
	if (function->by_reference)
		bits |= ALLOCATION_STORES;
	return allocator_returns(function) ? bits | ALLOCATION_RETURNS : bits;
}

/* A record of the call, at the head of the block at pc, when an allocator begins there and
 * calls of these are recorded. */
static void emit_allocation(struct batch *batch, uint64_t pc)
{
	const struct code_source *source = &batch->translator->source;
	struct arena *arena = batch->arena;
	if (!translator_notes_allocators(batch->translator) || !source->allocator)
		return;
	const int number = source->allocator(source->context, pc);
	if (number < 0)
		return;
	batch_piece(batch, PIECE_STEP, 0);
	struct label back = {0};
	emit_store_imm32(arena, description(number), gs_at(G_ALLOCATION));
	emit_gs_store(arena, RAX, KEPT_RAX);
	emit_lea_label(arena, RAX, &back);
	emit_gs_store(arena, RAX, G_ALLOCATION_BACK);
	emit_jump_through(arena, gs_at(G_AT_ALLOCATION));
	label_bind(arena, &back);
}

/* ---- kernels ---- */

/* At the head of the block at pc, when a kernel's function begins there. */
static void emit_kernel_entry(struct batch *batch, uint64_t pc)
{
	struct arena *arena = batch->arena;
	const int kernel = translator_kernel_at(batch->translator, pc);
	struct label back = {0};
	if (kernel < 0)
		return;
	batch_piece(batch, PIECE_STEP, 0);
	emit_store_imm32(arena, (uint32_t)kernel, gs_at(G_KERNEL_NUMBER));
	emit_gs_store(arena, RAX, KEPT_RAX);
	emit_lea_label(arena, RAX, &back);
	emit_jump_through(arena, gs_at(G_AT_KERNEL_ENTER));
	label_bind(arena, &back);
}

/* ---- all blocks ---- */

/* Whether calls in the batch's arena lead to a block, or will. */
static bool is_called(const struct batch *batch, const struct layout_block *layout, uint64_t pc)
{
	return layout->first_of_run && layout->in == OUTSIDE &&
	       (code_cache_has_links(batch->cache, batch->arena, pc, LINK_CALL, OUTSIDE) ||
		hot_code_is_called(&batch->translator->hot, pc));
}

/* Where calls come to: the word that they bring too many is dropped. */
static void emit_called(struct batch *batch, struct code_block *block)
{
	batch_piece(batch, PIECE_STEP, 0);
	block->called = (uint32_t)batch->arena->used;
	emit_drop_word(batch->arena);
}

static void emit_block(struct batch *batch, const struct layout_block *layout)
{
	const struct planned *items = batch->items;
	uint8_t dead = items[0].dead;
	if (batch->landing_due && dead != DEAD_ALL)
		dead |= plan_dead_at(batch->translator, items[0].insn.pc);
	const bool fell_in = batch->fell_in;
	open_block(batch, layout);
	batch->fell_in = false;
	if (batch->failed)
		return;
	struct code_block *block = &batch->cache->blocks[batch->block];
	const enum reg reg = loop_register(batch);
	struct label inner = {0};
	if (batch->entry_due) {
		if (is_called(batch, layout, block->pc)) {
			emit_called(batch, block);
			emit_jump(batch->arena, &inner);
		}
		block->entry = emit_entry(batch, block->pc);
		batch->entry_due = 0;
	} else if (batch->landing_due) {
		emit_due_landing(batch, dead);
	} else if (!fell_in && is_called(batch, layout, block->pc)) {
		emit_called(batch, block);
	}
	if (items[0].loop_head && reg == NO_REGISTER)
		keep_alignment(batch, block->pc, 0);
	label_bind(batch->arena, &inner);
	block->inner = (uint32_t)batch->arena->used;
	block->body = layout->in == OUTSIDE ? block->inner : 0;
	emit_kernel_entry(batch, items[0].insn.pc);
	emit_allocation(batch, items[0].insn.pc);
	struct trace_block trace;
	trace_begin(batch, &trace, reg == NO_REGISTER ? PIECE_CLEAN : PIECE_LOOP, reg);
	if (reg != NO_REGISTER) {
		emit_loop(batch, &trace);
	} else {
		batch_piece(batch, PIECE_CLEAN, 0);
		trace_save(batch, &trace);
		emit_insns(batch, &trace);
	}
	trace_plan_deinit(&trace.plan);
}

static bool falls_through(const struct decoded *insn)
{
	return insn->flow != FLOW_JUMP && insn->flow != FLOW_JUMP_INDIRECT &&
	       insn->flow != FLOW_RETURN && insn->flow != FLOW_XBEGIN;
}

/* Control behind the last block of a run, when its successor does not follow in the arena. */
static void emit_continuation(struct batch *batch, const struct decoded *last)
{
	uint64_t next = last->pc + last->length;
	const bool is_call = last->flow == FLOW_CALL || last->flow == FLOW_CALL_INDIRECT;
	const bool is_shared =
		is_call && !batch->landing_due; /* it ends in a jump to another call */
	batch_piece(batch, PIECE_STEP, 0);
	if (batch->landing_due)
		emit_due_landing(batch, plan_dead_at(batch->translator, next));
	if (falls_through(last) && !is_shared && !batch->fell_in && !batch_falls_to(batch, next))
		batch_jump(batch, next, is_call ? LINK_JUMP : LINK_FLOW);
}

/* Where the next block begins, if what is behind the one at hand can fall into it.  An entry of a
 * PLT is translated anew when its slot has been resolved: links to it are aimed at the new one. */
static uint64_t next_pc(const struct batch *batch, const struct plan *plan, size_t b)
{
	if (b + 1 >= batch->layout->n_blocks)
		return 0;
	const struct layout_block *next = &batch->layout->blocks[b + 1];
	const uint64_t pc = plan->items[next->first].insn.pc;
	return is_called(batch, next, pc) || layout_is_plt(plan, next) ? 0 : pc;
}

void emit_blocks(struct batch *batch, const struct plan *plan)
{
	for (size_t b = 0; b < batch->layout->n_blocks && !batch->failed; b++) {
		const struct layout_block *block = &batch->layout->blocks[b];
		const bool ends =
			block->is_rest || plan->items[block->first + block->n - 1].last_of_run;
		batch->next_pc = ends ? next_pc(batch, plan, b) : 0;
		batch->items = &plan->items[block->first];
		batch->n_items = block->n;
		emit_block(batch, block);
		const struct planned *last = &batch->items[block->n - 1];
		if (!batch->failed && ends)
			emit_continuation(batch, &last->insn);
	}
}
