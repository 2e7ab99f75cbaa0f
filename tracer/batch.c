#include "tracer/batch.h"

#include "base/array.h"

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
	};
	batch_check(batch, rf_array_push(arena->pieces, arena->n_pieces, arena->cap_pieces, new));
}

void emit_rel32_at(struct arena *arena, uint32_t site, uint64_t destination)
{
	int32_t rel = (int32_t)(destination - (site + 4));
	memcpy(arena->host + site, &rel, sizeof(rel));
}

void batch_link(struct batch *batch, uint64_t pc, bool is_call)
{
	const struct wanted wanted = {pc, is_call};
	batch_check(batch, code_cache_add_link(batch->cache, batch->arena, (uint32_t)batch->arena->used,
					       pc, is_call, false));
	batch_check(batch, rf_array_push(batch->wanted, batch->n_wanted, batch->cap_wanted, wanted));
	emit_u32(batch->arena, 0);
}

void batch_jump(struct batch *batch, uint64_t pc)
{
	EMIT(batch->arena, 0xe9);
	batch_link(batch, pc, false);
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
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	batch_check(batch, rf_array_push(cache->stubs, cache->n_stubs, cache->cap_stubs, stub) &&
			   code_cache_add_link(cache, arena, head, pc, is_call, true));
	emit_gs_store(arena, RAX, SAVE_RAX);
	if (is_call)
		emit_drop_word(arena);
	EMIT(arena, 0xb8); /* mov $stub, %eax */
	emit_u32(arena, (uint32_t)(cache->n_stubs - 1));
	emit_gs_jump(arena, G_AT_MISS);
	return head;
}

uint32_t batch_way(struct batch *batch, uint64_t pc, bool is_call)
{
	struct arena *arena = batch->arena;
	struct code_block *block = code_cache_block(batch->cache, pc);
	if (!block || block->provisional)
		return batch_stub(batch, pc, is_call);
	const bool is_here = &batch->cache->arenas[block->arena] == arena;
	if (is_here && (!is_call || block->called))
		return is_call ? block->called : block->body;
	const uint32_t way = (uint32_t)arena->used;
	batch->block = NO_BLOCK;
	batch_piece(batch, PIECE_STEP, 0);
	if (is_call)
		emit_drop_word(arena);
	if (is_here) {
		block->called = way;
		emit_jump_to(arena, block->body);
	} else {
		emit_far_jump(arena, arena_address(&batch->cache->arenas[block->arena], block->body));
	}
	return way;
}

static bool is_repeated(const struct batch *batch, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (batch->wanted[j].pc == batch->wanted[i].pc &&
		    batch->wanted[j].is_call == batch->wanted[i].is_call)
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
		const uint32_t way = batch_way(batch, wanted.pc, wanted.is_call);
		for (uint32_t *first = u64_map_find(&cache->links_to, wanted.pc),
			      l = first ? *first : UINT32_MAX;
		     l != UINT32_MAX && l >= batch->first_link; l = cache->links[l].next)
			if (!cache->links[l].is_stub && cache->links[l].is_call == wanted.is_call)
				emit_rel32_at(batch->arena, cache->links[l].site, way);
	}
}

/* Aims older links of one kind at a new block. */
static void aim_older(struct batch *batch, uint64_t pc, bool is_call)
{
	if (code_cache_has_links(batch->cache, batch->arena, pc, is_call))
		code_cache_aim_links(batch->cache, batch->arena, pc, is_call,
				     batch_way(batch, pc, is_call), batch->translator->quiet);
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
		aim_older(batch, cache->blocks[i].pc, false);
		aim_older(batch, cache->blocks[i].pc, true);
	}
}
