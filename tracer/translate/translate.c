#include "tracer/translate/translate.h"

#include "base/clock.h"
#include "tracer/translate/batch.h"
#include "tracer/translate/trace_emit.h"

#include <stdlib.h>

static const char why_full[] = "the code cache is full";
static const char why_no_memory[] = "rfprof is out of memory";

static bool emit_batch(struct translator *translator, const struct plan *plan, bool with_entry,
		       const char **why)
{
	struct batch batch = {
		.translator = translator,
		.cache = &translator->cache,
		.arena = code_cache_arena(&translator->cache, plan->items[0].insn.pc),
		.first_block = translator->cache.n_blocks,
		.first_link = translator->cache.n_links,
		.block = NO_BLOCK,
		.entry_due = with_entry ? plan->items[0].insn.pc : 0,
	};
	if (translator->failed) { /* what was begun then must not be built upon */
		*why = why_no_memory;
		return false;
	}
	if (!batch.arena || batch.cache->n_counters + 2 * plan->n_items > SLOT_N_COUNTERS) {
		*why = why_full;
		return false;
	}
	emit_nops(batch.arena, -batch.arena->used & 15);
	batch.start = (uint32_t)batch.arena->used;
	struct layout layout;
	batch_check(&batch, layout_build(&layout, plan, batch.cache));
	batch.layout = &layout;
	emit_blocks(&batch, plan);
	emit_cold_calls(&batch);
	emit_got_misses(&batch);
	emit_cold_checks(&batch);
	emit_replaced_landings(&batch);
	batch_publish(&batch);
	layout_deinit(&layout);
	if (batch.failed)
		*why = why_no_memory;
	translator->failed |= batch.failed;
	free(batch.calls);
	free(batch.got_misses);
	free(batch.cold_checks);
	free(batch.wanted);
	free(batch.exclusive);
	return !batch.failed;
}

/* Sends links that aim at pc to the gate. */
static void sever(struct translator *translator, struct arena *arena, uint64_t pc,
		  enum link_kind kind, uint32_t junction)
{
	struct code_cache *cache = &translator->cache;
	struct batch batch = {.translator = translator, .cache = cache, .arena = arena};
	if (!code_cache_has_links(cache, arena, pc, kind, junction) || !code_cache_has_room(arena))
		return;
	const uint32_t way = kind == LINK_FLOW ? batch_way_out(&batch, pc, junction)
					       : batch_stub(&batch, pc, kind == LINK_CALL);
	code_cache_aim_links(cache, arena, pc, kind, junction, way, true);
	translator->failed |= batch.failed;
}

static void forget(struct translator *translator, struct code_block *block)
{
	struct code_cache *cache = &translator->cache;
	block->stale = true;
	u64_map_remove(&cache->block_of_pc, block->pc);
	u64_map_remove(&cache->landing_of_pc, block->pc);
	u64_map_remove(&cache->calls, block->pc + block->size);
	for (int i = 0; i < cache->n_arenas; i++) {
		sever(translator, &cache->arenas[i], block->pc, LINK_JUMP, OUTSIDE);
		sever(translator, &cache->arenas[i], block->pc, LINK_CALL, OUTSIDE);
	}
	if (block->in != OUTSIDE)
		sever(translator, &cache->arenas[block->arena], block->pc, LINK_FLOW, block->in);
}

/* `with_entry`: an indirect jump or call asks for it, so that its entry should stand before it. */
static struct code_block *find_or_translate(struct translator *translator, uint64_t pc,
					    bool with_entry, const char **why)
{
	struct code_block *block = code_cache_block(&translator->cache, pc);
	if (block)
		return block;
	const uint64_t start = clock_now_ns();
	struct plan plan;
	bool ok = plan_build(&plan, translator, pc, why) &&
		  emit_batch(translator, &plan, with_entry, why);
	plan_deinit(&plan);
	translator->spent_ns += clock_now_ns() - start;
	if (ok)
		*why = NULL; /* that of the code behind it */
	return ok ? code_cache_block(&translator->cache, pc) : NULL;
}

/* Whether the slot that a provisional block goes through has been resolved since. */
static bool got_is_resolved(struct translator *translator, const struct code_block *block)
{
	struct decoded insn;
	uint64_t value, offset = 0;
	do {
		decode_instruction(block->bytes + offset, block->size - offset, block->pc + offset,
				   &insn);
		offset += insn.length;
	} while (offset < block->size && insn.length);
	return translator->source.value(translator->source.context, insn.target, &value) &&
	       !plan_is_unresolved(translator, value);
}

/* Code that was translated before its slot of the GOT was resolved is translated once more. */
static struct code_block *find_resolved(struct translator *translator, uint64_t pc,
					const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block || !block->provisional || !got_is_resolved(translator, block))
		return block;
	forget(translator, block);
	return find_or_translate(translator, pc, false, why);
}

/* A batch of nothing but a way to the block.  False when there is no room for one. */
static bool way_to(struct translator *translator, const struct code_block *block,
		   struct batch *batch, const char **why)
{
	*batch = (struct batch){
		.translator = translator,
		.cache = &translator->cache,
		.arena = &translator->cache.arenas[block->arena],
		.block = (uint32_t)(block - translator->cache.blocks),
	};
	if (!code_cache_has_room(batch->arena))
		*why = why_full;
	return code_cache_has_room(batch->arena);
}

/* The cache address of a block's body; 0 with *why when it cannot be made. */
static uint64_t body_of(struct translator *translator, struct code_block *block, const char **why)
{
	struct batch batch;
	if (!block || (!block->body && !way_to(translator, block, &batch, why)))
		return 0;
	const uint32_t body = block->body ? block->body : batch_body(&batch, block);
	if (!body) {
		translator->failed = true;
		*why = why_no_memory;
	}
	return body ? arena_address(&translator->cache.arenas[block->arena], body) : 0;
}

uint64_t translate_body(struct translator *translator, uint64_t pc, const char **why)
{
	return body_of(translator, find_or_translate(translator, pc, false, why), why);
}

uint64_t translate_entry(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, true, why);
	if (!block)
		return 0;
	struct arena *const arena = &translator->cache.arenas[block->arena];
	struct batch batch;
	if (!block->entry) {
		if (!way_to(translator, block, &batch, why) || !body_of(translator, block, why))
			return 0;
		block->entry = (uint32_t)arena->used;
		emit_entry(&batch, pc);
		emit_jump_to(arena, block->body);
	}
	return arena_address(arena, block->entry);
}

uint64_t translate_landing(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_cache *cache = &translator->cache;
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block)
		return 0;
	struct landing *landing = code_cache_landing(cache, pc);
	if (!landing) {
		struct batch batch;
		if (!way_to(translator, block, &batch, why) || !body_of(translator, block, why))
			return 0;
		emit_landing(&batch, pc, plan_dead_at(translator, pc) == DEAD_ALL);
		emit_jump_to(batch.arena, block->body);
		emit_replaced_landings(&batch);
		free(batch.exclusive);
		translator->failed |= batch.failed;
		landing = code_cache_landing(cache, pc);
	}
	return landing ? arena_address(&cache->arenas[landing->arena], landing->at) : 0;
}

uint64_t translate_stub(struct translator *translator, uint64_t stub, uint64_t *pc,
			const char **why)
{
	struct code_cache *cache = &translator->cache;
	const struct stub asked = cache->stubs[stub];
	*pc = asked.pc;
	struct code_block *block = find_resolved(translator, *pc, why);
	if (!block)
		return 0;
	struct batch batch = {.translator = translator,
			      .cache = cache,
			      .arena = &cache->arenas[asked.arena],
			      .block = NO_BLOCK};
	/* Links within the block's arena were aimed when it was published; those of the stub's
	 * arena get a way to it. */
	if (!block->provisional && asked.arena != block->arena && !asked.linked &&
	    code_cache_has_room(batch.arena)) {
		uint32_t way = batch_way(&batch, *pc, asked.is_call);
		code_cache_aim_links(cache, batch.arena, *pc, asked.is_call ? LINK_CALL : LINK_JUMP,
				     OUTSIDE, way, translator->quiet);
		cache->stubs[stub].linked = true;
		translator->failed |= batch.failed;
	}
	return body_of(translator, block, why);
}

/* Forgets a block and what runs on into it.  Returns how many were not forgotten yet. */
static size_t forget_run(struct translator *translator, size_t i, uint64_t *lowest)
{
	struct code_cache *cache = &translator->cache;
	size_t n = 0;
	for (;; i--) {
		struct code_block *block = &cache->blocks[i];
		if (!block->stale) {
			*lowest = block->pc < *lowest ? block->pc : *lowest;
			forget(translator, block);
			n++;
		}
		if (!cache->blocks[i].falls_in)
			return n;
	}
}

size_t translate_invalidate(struct translator *translator, uint64_t *start, uint64_t end)
{
	struct code_cache *cache = &translator->cache;
	const uint64_t from = *start;
	if (from >= cache->highest || end <= cache->lowest)
		return 0;
	size_t n = 0;
	for (size_t i = 0; i < cache->n_blocks; i++) {
		const struct code_block *block = &cache->blocks[i];
		if (!block->stale && block->pc < end && block->pc + block->size > from)
			n += forget_run(translator, i, start);
	}
	return n;
}
