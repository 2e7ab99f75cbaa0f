#include "tracer/translate/batch.h"

#include "base/array.h"
#include "tracer/translate/derive.h"

const enum reg low_registers[6] = {RAX, RCX, RDX, RBX, RSI, RDI};
const enum reg any_register[14] = {R11, R10, R9,  R8,  R15, R14, R13,
				   RDI, RSI, RDX, RCX, RBX, RAX, RBP};

/* An instruction has at most four registers, so the low ones never run out for one. */
enum reg free_register(unsigned used, const enum reg *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(used & 1u << list[i]))
			return list[i];
	return NO_REGISTER;
}

void batch_check(struct batch *batch, bool ok)
{
	batch->failed |= !ok;
}

void batch_piece(struct batch *batch, enum piece_kind kind, uint16_t orig)
{
	struct arena *arena = batch->arena;
	struct piece new = {
		.cache = (uint32_t)arena->used,
		.block = batch->block,
		.orig = orig,
		.kind = (uint8_t)kind,
		.spilled = batch->spilled,
	};
	batch_check(batch, rf_array_push(arena->pieces, arena->n_pieces, arena->cap_pieces, new));
}

void emit_rel32_at(struct arena *arena, uint32_t site, uint64_t destination)
{
	int32_t rel = (int32_t)(destination - (site + 4));
	memcpy(arena->host + site, &rel, sizeof(rel));
}

void batch_link(struct batch *batch, uint64_t pc, enum link_kind kind)
{
	const uint32_t junction = kind == LINK_FLOW ? layout_junction(batch->layout, pc) : OUTSIDE;
	const struct wanted wanted = {pc,
				      kind == LINK_FLOW && junction == OUTSIDE ? LINK_JUMP : kind};
	const struct link link = {
		.target = pc,
		.site = (uint32_t)batch->arena->used,
		.junction = junction,
		.arena = (uint8_t)(batch->arena - batch->cache->arenas),
		.kind = (uint8_t)wanted.kind,
	};
	batch_check(batch, code_cache_add_link(batch->cache, &link));
	batch_check(batch,
		    rf_array_push(batch->wanted, batch->n_wanted, batch->cap_wanted, wanted));
	emit_u32(batch->arena, 0);
}

void batch_jump(struct batch *batch, uint64_t pc, enum link_kind kind)
{
	EMIT(batch->arena, 0xe9);
	batch_link(batch, pc, kind);
}

void emit_jump_to(struct arena *arena, uint32_t offset)
{
	EMIT(arena, 0xe9);
	emit_u32(arena, 0);
	emit_rel32_at(arena, (uint32_t)arena->used - 4, offset);
}

/* jmp *0(%rip); .quad address */
void emit_far_jump(struct arena *arena, uint64_t address)
{
	EMIT(arena, 0xff, 0x25, 0, 0, 0, 0);
	emit_u64(arena, address);
}

void emit_drop_word(struct arena *arena)
{
	EMIT(arena, 0x48, 0x8d, 0x64, 0x24, 0x08); /* lea 8(%rsp), %rsp */
}

/* The first instruction is longer than the 8 bytes that become a jump. */
uint32_t batch_stub(struct batch *batch, uint64_t pc, bool is_call)
{
	struct code_cache *cache = batch->cache;
	struct arena *arena = batch->arena;
	emit_nops(arena, -arena->used & 7);
	const uint32_t head = (uint32_t)arena->used;
	const struct stub stub = {pc, (uint8_t)(arena - cache->arenas), is_call, false};
	const struct link link = {.target = pc,
				  .site = head,
				  .arena = stub.arena,
				  .kind = is_call ? LINK_CALL : LINK_JUMP,
				  .is_stub = true};
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	batch_check(batch, rf_array_push(cache->stubs, cache->n_stubs, cache->cap_stubs, stub) &&
				   code_cache_add_link(cache, &link));
	emit_gs_store(arena, RAX, SAVE_RAX);
	if (is_call)
		emit_drop_word(arena);
	EMIT(arena, 0xb8); /* mov $stub, %eax */
	emit_u32(arena, (uint32_t)(cache->n_stubs - 1));
	emit_gs_jump(arena, G_AT_MISS);
	return head;
}

uint32_t batch_body(struct batch *batch, struct code_block *block)
{
	struct arena *const own = batch->arena;
	uint32_t counter;
	if (block->body)
		return block->body;
	if (!derive_add_crossing(batch->cache, OUTSIDE, block->in, &counter)) {
		batch->failed = true;
		return 0;
	}
	batch->arena = &batch->cache->arenas[block->arena];
	batch->block = NO_BLOCK;
	block->body = (uint32_t)batch->arena->used;
	batch_piece(batch, PIECE_STEP, 0);
	emit_count_other(batch, counter, block->dead);
	emit_jump_to(batch->arena, block->inner);
	batch->arena = own;
	return block->body;
}

uint32_t batch_way_out(struct batch *batch, uint64_t pc, uint32_t junction)
{
	uint32_t counter;
	const uint32_t stub = batch_stub(batch, pc, false), way = (uint32_t)batch->arena->used;
	if (!derive_add_crossing(batch->cache, junction, OUTSIDE, &counter)) {
		batch->failed = true;
		return stub;
	}
	batch_piece(batch, PIECE_STEP, 0);
	emit_count_other(batch, counter, 0);
	emit_jump_to(batch->arena, stub);
	return way;
}

uint32_t batch_way(struct batch *batch, uint64_t pc, bool is_call)
{
	struct arena *arena = batch->arena;
	struct code_block *block = code_cache_block(batch->cache, pc);
	if (!block || block->provisional ||
	    (!block->body && !code_cache_has_room(&batch->cache->arenas[block->arena])))
		return batch_stub(batch, pc, is_call);
	const bool is_here = &batch->cache->arenas[block->arena] == arena;
	const uint32_t body = batch_body(batch, block);
	if (is_here && (!is_call || block->called))
		return is_call ? block->called : body;
	const uint32_t way = (uint32_t)arena->used;
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	if (is_call)
		emit_drop_word(arena);
	if (is_here) {
		block->called = way;
		emit_jump_to(arena, body);
	} else {
		emit_far_jump(arena, arena_address(&batch->cache->arenas[block->arena], body));
	}
	return way;
}

static bool is_repeated(const struct batch *batch, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (batch->wanted[j].pc == batch->wanted[i].pc &&
		    batch->wanted[j].kind == batch->wanted[i].kind)
			return true;
	return false;
}

/* Where the links of this batch to a target go. */
static uint32_t place_of(struct batch *batch, const struct wanted *wanted)
{
	if (wanted->kind == LINK_FLOW)
		return code_cache_block(batch->cache, wanted->pc)->inner;
	return batch_way(batch, wanted->pc, wanted->kind == LINK_CALL);
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
		const uint32_t place = place_of(batch, &wanted);
		for (uint32_t *first = u64_map_find(&cache->links_to, wanted.pc),
			      l = first ? *first : UINT32_MAX;
		     l != UINT32_MAX && l >= batch->first_link; l = cache->links[l].next)
			if (!cache->links[l].is_stub && cache->links[l].kind == wanted.kind)
				emit_rel32_at(batch->arena, cache->links[l].site, place);
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
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = batch->first_block; i < cache->n_blocks; i++) {
		if (cache->blocks[i].provisional)
			continue;
		aim_older(batch, cache->blocks[i].pc, LINK_JUMP);
		aim_older(batch, cache->blocks[i].pc, LINK_CALL);
	}
}
