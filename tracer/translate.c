#include "tracer/translate.h"

#include "base/clock.h"
#include "tracer/batch.h"

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
	emit_runs(&batch, plan);
	emit_cold_calls(&batch);
	emit_got_misses(&batch);
	emit_replaced_landings(&batch);
	batch_publish(&batch);
	if (batch.failed)
		*why = why_no_memory;
	translator->failed |= batch.failed;
	free(batch.calls);
	free(batch.got_misses);
	free(batch.wanted);
	free(batch.exclusive);
	return !batch.failed;
}

static void forget(struct translator *translator, struct code_block *block)
{
	struct code_cache *cache = &translator->cache;
	block->stale = true;
	u64_map_remove(&cache->block_of_pc, block->pc);
	u64_map_remove(&cache->landing_of_pc, block->pc);
	u64_map_remove(&cache->calls, block->pc + block->size);
	for (int i = 0; i < cache->n_arenas; i++)
		for (int is_call = 0; is_call < 2; is_call++) {
			struct batch batch = {.translator = translator, .cache = cache,
					      .arena = &cache->arenas[i]};
			if (!code_cache_has_links(cache, batch.arena, block->pc, is_call) ||
			    !code_cache_has_room(batch.arena))
				continue;
			const uint32_t stub = batch_stub(&batch, block->pc, is_call);
			code_cache_aim_links(cache, batch.arena, block->pc, is_call, stub, true);
			translator->failed |= batch.failed;
		}
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
	bool ok = plan_build(&plan, translator, pc, why) && emit_batch(translator, &plan, with_entry, why);
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
		decode_instruction(block->bytes + offset, block->size - offset, block->pc + offset, &insn);
		offset += insn.length;
	} while (offset < block->size && insn.length);
	return translator->source.value(translator->source.context, insn.target, &value) &&
	       !plan_is_unresolved(translator, value);
}

/* Code that was translated before its slot of the GOT was resolved is translated once more. */
static struct code_block *find_resolved(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block || !block->provisional || !got_is_resolved(translator, block))
		return block;
	forget(translator, block);
	return find_or_translate(translator, pc, false, why);
}

uint64_t translate_body(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, false, why);
	return block ? arena_address(&translator->cache.arenas[block->arena], block->body) : 0;
}

/* A batch of nothing but a way to the block. */
static struct batch way_to(struct translator *translator, const struct code_block *block)
{
	return (struct batch){
		.translator = translator,
		.cache = &translator->cache,
		.arena = &translator->cache.arenas[block->arena],
		.block = (uint32_t)(block - translator->cache.blocks),
	};
}

uint64_t translate_entry(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, true, why);
	if (!block)
		return 0;
	struct batch batch = way_to(translator, block);
	if (!block->entry) {
		if (!code_cache_has_room(batch.arena)) {
			*why = why_full;
			return 0;
		}
		block->entry = (uint32_t)batch.arena->used;
		emit_entry(&batch, pc);
		emit_jump_to(batch.arena, block->body);
	}
	return arena_address(batch.arena, block->entry);
}

uint64_t translate_landing(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_cache *cache = &translator->cache;
	struct code_block *block = find_or_translate(translator, pc, false, why);
	if (!block)
		return 0;
	struct landing *landing = code_cache_landing(cache, pc);
	if (!landing) {
		struct batch batch = way_to(translator, block);
		if (!code_cache_has_room(batch.arena)) {
			*why = why_full;
			return 0;
		}
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
	struct batch batch = {.translator = translator, .cache = cache,
			      .arena = &cache->arenas[asked.arena], .block = NO_BLOCK};
	/* Links within the block's arena were aimed when it was published; those of the stub's arena get
	 * a way to it. */
	if (!block->provisional && asked.arena != block->arena && !asked.linked &&
	    code_cache_has_room(batch.arena)) {
		uint32_t way = batch_way(&batch, *pc, asked.is_call);
		code_cache_aim_links(cache, batch.arena, *pc, asked.is_call, way, translator->quiet);
		cache->stubs[stub].linked = true;
		translator->failed |= batch.failed;
	}
	return arena_address(&cache->arenas[block->arena], block->body);
}

size_t translate_invalidate(struct translator *translator, uint64_t start, uint64_t end)
{
	struct code_cache *cache = &translator->cache;
	if (start >= cache->highest || end <= cache->lowest)
		return 0;
	size_t n = 0;
	for (size_t i = 0; i < cache->n_blocks; i++) {
		struct code_block *block = &cache->blocks[i];
		if (block->stale || block->pc >= end || block->pc + block->size <= start)
			continue;
		forget(translator, block);
		n++;
	}
	return n;
}
