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

void batch_link(struct batch *batch, uint64_t pc)
{
	batch_check(batch, code_cache_add_link(batch->cache, batch->arena, (uint32_t)batch->arena->used,
					 pc, false));
	batch_check(batch, rf_array_push(batch->wanted, batch->n_wanted, batch->cap_wanted, pc));
	emit_u32(batch->arena, 0);
}

void batch_jump(struct batch *batch, uint64_t pc)
{
	EMIT(batch->arena, 0xe9);
	batch_link(batch, pc);
}

/* jmp *0(%rip); .quad address */
void emit_far_jump(struct arena *arena, uint64_t address)
{
	EMIT(arena, 0xff, 0x25, 0, 0, 0, 0);
	emit_u64(arena, address);
}

uint32_t batch_stub(struct code_cache *cache, struct arena *arena, uint64_t pc, bool *ok)
{
	emit_nops(arena, -arena->used & 7);
	struct piece new = {.cache = (uint32_t)arena->used, .block = NO_BLOCK, .kind = PIECE_STEP};
	uint32_t head = (uint32_t)arena->used;
	*ok = rf_array_push(arena->pieces, arena->n_pieces, arena->cap_pieces, new) &&
	      rf_array_push(cache->stubs, cache->n_stubs, cache->cap_stubs, pc) &&
	      code_cache_add_link(cache, arena, head, pc, true);
	emit_gs_store(arena, RAX, SAVE_RAX);
	EMIT(arena, 0xb8); /* mov $stub, %eax */
	emit_u32(arena, (uint32_t)(cache->n_stubs - 1));
	emit_gs_jump(arena, G_AT_MISS);
	return head;
}

/* Gives each branch target of this batch its block or a stub. */
static void resolve_wanted(struct batch *batch)
{
	struct code_cache *cache = batch->cache;
	struct u64_map done = {0};
	for (size_t i = 0; i < batch->n_wanted && !batch->failed; i++) {
		uint64_t pc = batch->wanted[i];
		if (u64_map_find(&done, pc))
			continue;
		bool ok = u64_map_set(&done, pc, 1);
		struct code_block *block = code_cache_block(cache, pc);
		if (block && block->provisional)
			block = NULL;
		uint32_t destination;
		if (block && &cache->arenas[block->arena] == batch->arena) {
			destination = block->body;
		} else if (block) {
			destination = (uint32_t)batch->arena->used;
			batch->block = NO_BLOCK;
			batch_piece(batch, PIECE_STEP, 0);
			emit_far_jump(batch->arena,
				      arena_address(&cache->arenas[block->arena], block->body));
		} else {
			destination = batch_stub(cache, batch->arena, pc, &ok);
		}
		batch_check(batch, ok);
		/* fields of this batch are seen by nobody yet; older ones keep their stub */
		for (uint32_t *link = u64_map_find(&cache->links_to, pc), l = link ? *link : UINT32_MAX;
		     l != UINT32_MAX; l = cache->links[l].next)
			if (!cache->links[l].is_stub && cache->links[l].site >= batch->start &&
			    &cache->arenas[cache->links[l].arena] == batch->arena)
				emit_rel32_at(batch->arena, cache->links[l].site, destination);
	}
	u64_map_deinit(&done);
}

void batch_publish(struct batch *batch)
{
	struct code_cache *cache = batch->cache;
	resolve_wanted(batch);
	if (batch->failed)
		return;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (size_t i = batch->first_block; i < cache->n_blocks; i++)
		if (!cache->blocks[i].provisional)
			code_cache_aim_links(cache, batch->arena, cache->blocks[i].pc,
					     cache->blocks[i].body, batch->translator->quiet);
}

