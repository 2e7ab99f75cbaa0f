#include "tracer/translate.h"

#include "tracer/batch.h"

#include <stdlib.h>

static bool emit_batch(struct translator *translator, const struct plan *plan, const char **why)
{
	struct batch batch = {
		.translator = translator,
		.cache = &translator->cache,
		.arena = code_cache_arena(&translator->cache, plan->items[0].insn.pc),
		.first_block = translator->cache.n_blocks,
		.block = NO_BLOCK,
	};
	if (!batch.arena || batch.cache->n_counters + 2 * plan->n_items > SLOT_N_COUNTERS) {
		*why = "the code cache is full";
		return false;
	}
	emit_nops(batch.arena, -batch.arena->used & 15);
	batch.start = (uint32_t)batch.arena->used;
	emit_runs(&batch, plan);
	emit_cold_calls(&batch);
	batch_publish(&batch);
	if (batch.failed)
		*why = "rfprof is out of memory";
	free(batch.calls);
	free(batch.wanted);
	return !batch.failed;
}

static struct code_block *find_or_translate(struct translator *translator, uint64_t pc,
					    const char **why)
{
	struct code_block *block = code_cache_block(&translator->cache, pc);
	if (block)
		return block;
	struct plan plan;
	bool ok = plan_build(&plan, translator, pc, why) && emit_batch(translator, &plan, why);
	plan_deinit(&plan);
	return ok ? code_cache_block(&translator->cache, pc) : NULL;
}

uint64_t translate_body(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, why);
	return block ? arena_address(&translator->cache.arenas[block->arena], block->body) : 0;
}

uint64_t translate_entry(struct translator *translator, uint64_t pc, const char **why)
{
	struct code_block *block = find_or_translate(translator, pc, why);
	if (!block)
		return 0;
	struct arena *arena = &translator->cache.arenas[block->arena];
	if (!block->entry) {
		struct batch batch = {
			.translator = translator,
			.cache = &translator->cache,
			.arena = arena,
			.block = (uint32_t)(block - translator->cache.blocks),
		};
		uint32_t entry = (uint32_t)arena->used;
		emit_entry(&batch, pc);
		EMIT(arena, 0xe9);
		emit_u32(arena, 0);
		emit_rel32_at(arena, (uint32_t)arena->used - 4, block->body);
		block->entry = entry;
	}
	return arena_address(arena, block->entry);
}

uint64_t translate_stub(struct translator *translator, uint64_t stub, uint64_t *pc,
			const char **why)
{
	struct code_cache *cache = &translator->cache;
	*pc = cache->stubs[stub];
	struct code_block *block = find_or_translate(translator, *pc, why);
	if (!block)
		return 0;
	uint64_t body = arena_address(&cache->arenas[block->arena], block->body);
	/* Links within the block's arena were aimed when it was published; a stub of another arena
	 * gets a far jump. */
	for (int i = 0; i < cache->n_arenas; i++) {
		struct arena *arena = &cache->arenas[i];
		const uint32_t *first = u64_map_find(&cache->links_to, *pc);
		uint32_t l = first ? *first : UINT32_MAX;
		while (l != UINT32_MAX && &cache->arenas[cache->links[l].arena] != arena)
			l = cache->links[l].next;
		if (i == block->arena || l == UINT32_MAX)
			continue;
		struct batch batch = {.translator = translator, .cache = cache, .arena = arena,
				      .block = NO_BLOCK};
		uint32_t jump = (uint32_t)arena->used;
		batch_piece(&batch, PIECE_STEP, 0);
		emit_far_jump(arena, body);
		code_cache_aim_links(cache, arena, *pc, jump, translator->quiet);
	}
	return body;
}

static void forget(struct translator *translator, struct code_block *block)
{
	struct code_cache *cache = &translator->cache;
	block->stale = true;
	u64_map_remove(&cache->block_of_pc, block->pc);
	u64_map_remove(&cache->landings, block->pc);
	for (int i = 0; i < cache->n_arenas; i++) {
		bool ok;
		uint32_t stub = batch_stub(cache, &cache->arenas[i], block->pc, &ok);
		if (ok)
			code_cache_aim_links(cache, &cache->arenas[i], block->pc, stub, true);
	}
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
