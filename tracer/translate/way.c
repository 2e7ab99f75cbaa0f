/* Ways to blocks, stubs for blocks that are not there, and the links that lead to both. */
#include "tracer/translate/way.h"

#include "base/assert.h"
#include "tracer/translate/count.h"
#include "tracer/translate/derive.h"

void emit_drop_word(struct arena *arena)
{
	emit_lea(arena, RSP, mem_at(RSP, 8));
}

/* The first instruction is longer than the 8 bytes that become a jump. */
uint32_t batch_stub(struct batch *batch, uint64_t pc, bool is_call)
{
	struct code_cache *cache = batch->cache;
	struct arena *arena = batch->arena;
	arena_align(arena, 8);
	const uint32_t head = (uint32_t)arena->used;
	const struct stub stub = {pc, (uint8_t)(arena - cache->arenas), is_call, false};
	const struct link link = {.target = pc,
				  .site = head,
				  .arena = stub.arena,
				  .kind = is_call ? LINK_CALL : LINK_JUMP,
				  .is_stub = true};
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	batch_push(batch, cache->stubs, cache->n_stubs, cache->cap_stubs, stub);
	batch_check(batch, code_cache_add_link(cache, &link));
	emit_gs_store(arena, RAX, SAVE_RAX);
	assert(arena->used - head > 8);
	if (is_call)
		emit_drop_word(arena);
	emit_mov_imm32(arena, RAX,
		       translator_first_stub(batch->translator) + (uint32_t)(cache->n_stubs - 1));
	emit_jump_through(arena, gs_at(G_AT_MISS));
	return head;
}

/* A way to a place in the arena that counts what takes it. */
static void emit_counted_way(struct batch *batch, uint32_t counter, uint8_t dead, uint32_t place)
{
	struct label there = label_at(place);
	batch_piece(batch, PIECE_STEP, 0);
	emit_count_other(batch, counter, dead);
	emit_jump(batch->arena, &there);
}

uint32_t batch_body(struct batch *batch, struct code_block *block)
{
	struct arena *const own = batch->arena;
	uint32_t counter;
	if (block->body)
		return block->body;
	struct rf_error *error = derive_add_crossing(batch->cache, OUTSIDE, block->in, &counter);
	batch_check(batch, error);
	if (error)
		return 0;
	batch->arena = &batch->cache->arenas[block->arena];
	batch->block = NO_BLOCK;
	block->body = (uint32_t)batch->arena->used;
	emit_counted_way(batch, counter, block->dead, block->inner);
	batch->arena = own;
	return block->body;
}

void emit_exits(struct batch *batch)
{
	batch->block = NO_BLOCK;
	for (size_t i = 0; i < batch->n_exits && !batch->failed; i++) {
		struct batch_exit *exit = &batch->exits[i];
		uint32_t counter;
		batch_check(batch,
			    derive_add_crossing(batch->cache, exit->junction, OUTSIDE, &counter));
		if (batch->failed)
			return;
		label_bind(batch->arena, &exit->label);
		batch_piece(batch, PIECE_STEP, 0);
		emit_count_other(batch, counter, 0);
		batch_jump(batch, exit->pc, LINK_JUMP);
	}
}

uint32_t batch_way_out(struct batch *batch, uint64_t pc, uint32_t junction)
{
	uint32_t counter;
	const uint32_t stub = batch_stub(batch, pc, false), way = (uint32_t)batch->arena->used;
	struct rf_error *error = derive_add_crossing(batch->cache, junction, OUTSIDE, &counter);
	batch_check(batch, error);
	if (error)
		return stub;
	emit_counted_way(batch, counter, 0, stub);
	return way;
}

/* A way to a body that is in another arena, or that calls have no way to yet. */
static uint32_t emit_way(struct batch *batch, struct code_block *block, uint32_t body, bool is_call)
{
	struct arena *arena = batch->arena;
	const struct arena *there = &batch->cache->arenas[block->arena];
	const uint32_t way = (uint32_t)arena->used;
	struct label label = label_at(body);
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	if (is_call)
		emit_drop_word(arena);
	if (arena == there) {
		block->called = way;
		emit_jump(arena, &label);
	} else {
		emit_jump_far(arena, arena_address(there, body));
	}
	return way;
}

uint32_t batch_way(struct batch *batch, uint64_t pc, bool is_call)
{
	struct code_block *block = code_cache_block(batch->cache, pc);
	if (!block || block->provisional ||
	    (!block->body && !code_cache_has_room(&batch->cache->arenas[block->arena])))
		return batch_stub(batch, pc, is_call);
	const bool is_here = &batch->cache->arenas[block->arena] == batch->arena;
	const uint32_t body = batch_body(batch, block);
	if (is_here && (!is_call || block->called))
		return is_call ? block->called : body;
	return emit_way(batch, block, body, is_call);
}

/* ---- links ---- */

static bool is_repeated(const struct batch *batch, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (batch->wanted[j].pc == batch->wanted[i].pc &&
		    batch->wanted[j].kind == batch->wanted[i].kind)
			return true;
	return false;
}

/* Gives each target of this batch its block or a stub.  The fields of this batch are seen by nobody
 * yet; older ones keep their stub. */
static void resolve_wanted(struct batch *batch)
{
	struct code_cache *cache = batch->cache;
	for (size_t i = 0; i < batch->n_wanted && !batch->failed; i++) {
		const struct wanted wanted = batch->wanted[i];
		if (is_repeated(batch, i))
			continue;
		const uint32_t place =
			wanted.kind == LINK_FLOW
				? code_cache_block(cache, wanted.pc)->inner
				: batch_way(batch, wanted.pc, wanted.kind == LINK_CALL);
		for (uint32_t l = code_cache_find(cache, &cache->links_to, wanted.pc);
		     l != NOT_THERE && l >= batch->first_link; l = cache->links[l].next)
			if (!cache->links[l].is_stub && cache->links[l].kind == wanted.kind)
				arena_aim(batch->arena, cache->links[l].site, place);
	}
}

/* Aims older links of one kind at a new block. */
static void aim_older(struct batch *batch, uint64_t pc, enum link_kind kind)
{
	if (code_cache_has_links(batch->cache, batch->arena, pc, kind, OUTSIDE))
		code_cache_aim_links(batch->cache, batch->arena, pc, kind, OUTSIDE,
				     batch_way(batch, pc, kind == LINK_CALL),
				     batch->translator->quiet);
}

void batch_publish(struct batch *batch)
{
	struct code_cache *cache = batch->cache;
	resolve_wanted(batch);
	if (batch->failed)
		return;
	for (int i = 0; i < cache->n_arenas; i++)
		assert(!cache->arenas[i].n_open);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = batch->first_block; i < cache->n_blocks; i++) {
		if (cache->blocks[i].provisional)
			continue;
		aim_older(batch, cache->blocks[i].pc, LINK_JUMP);
		aim_older(batch, cache->blocks[i].pc, LINK_CALL);
	}
}
