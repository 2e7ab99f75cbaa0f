/* What all parts of a batch need while it is emitted: its beginning and end, pieces, links to
 * blocks, and registers to borrow. */
#include "tracer/translate/batch.h"

#include "base/assert.h"

#include <stdlib.h>

const enum reg low_registers[6] = {RAX, RCX, RDX, RBX, RSI, RDI};
const enum reg any_register[14] = {R11, R10, R9,  R8,  R15, R14, R13,
				   RDI, RSI, RDX, RCX, RBX, RAX, RBP};

void batch_open(struct batch *batch, struct translator *translator, struct arena *arena,
		uint32_t block)
{
	struct code_cache *cache = &translator->cache;
	*batch = (struct batch){
		.translator = translator,
		.cache = cache,
		.arena = arena,
		.first_block = cache->n_blocks,
		.first_link = cache->n_links,
		.block = block,
	};
	for (int i = 0; i < cache->n_arenas; i++)
		assert(!cache->arenas[i].is_open && !cache->arenas[i].n_open);
}

bool batch_close(struct batch *batch)
{
	struct code_cache *cache = batch->cache;
	for (int i = 0; i < cache->n_arenas; i++) {
		arena_end_piece(&cache->arenas[i]);
		assert(batch->failed || !cache->arenas[i].n_open);
		cache->arenas[i].n_open = 0; /* nobody will run what was cut short */
	}
	assert(batch->failed || (!batch->slots_in_use && !batch->landing_due && !batch->entry_due));
	batch->translator->failed |= batch->failed;
	free(batch->calls);
	free(batch->got_misses);
	free(batch->exits);
	free(batch->cold_checks);
	free(batch->wanted);
	free(batch->exclusive);
	return !batch->failed;
}

void batch_check(struct batch *batch, struct rf_error *error)
{
	batch->failed |= error != NULL;
	rf_error_destroy(error);
}

void batch_piece_of(struct batch *batch, struct piece piece)
{
	piece.block = batch->block;
	piece.spilled = batch->spilled;
	batch_check(batch, arena_begin_piece(batch->arena, &piece));
}

void batch_piece(struct batch *batch, enum piece_kind kind, uint16_t orig)
{
	batch_piece_of(batch, (struct piece){.kind = (uint8_t)kind, .orig = orig});
}

/* ---- links ---- */

void batch_link(struct batch *batch, const struct label *label, uint64_t pc, enum link_kind kind)
{
	const uint32_t junction = kind == LINK_FLOW ? layout_junction(batch->layout, pc) : OUTSIDE;
	const uint32_t out = kind == LINK_FLOW ? batch->cache->blocks[batch->block].out : OUTSIDE;
	if (junction != out) {
		const struct batch_exit exit = {*label, pc, out};
		assert(junction == OUTSIDE && batch->layout->counts_exits);
		batch_push(batch, batch->exits, batch->n_exits, batch->cap_exits, exit);
		return;
	}
	const struct wanted wanted = {pc,
				      kind == LINK_FLOW && junction == OUTSIDE ? LINK_JUMP : kind};
	const struct link link = {
		.target = pc,
		.site = label_hand_over(label),
		.junction = junction,
		.arena = (uint8_t)(batch->arena - batch->cache->arenas),
		.kind = (uint8_t)wanted.kind,
		.by_got = kind == LINK_JUMP && pc == batch->got_value,
	};
	batch_check(batch, code_cache_add_link(batch->cache, &link));
	batch_push(batch, batch->wanted, batch->n_wanted, batch->cap_wanted, wanted);
}

bool batch_falls_to(struct batch *batch, uint64_t pc)
{
	const bool falls = pc && pc == batch->next_pc;
	batch->fell_in |= falls;
	return falls;
}

void batch_jump(struct batch *batch, uint64_t pc, enum link_kind kind)
{
	struct label label = {0};
	emit_jump(batch->arena, &label);
	batch_link(batch, &label, pc, kind);
}

/* ---- registers to borrow ---- */

/* An instruction has at most four registers, so the low ones never run out for one. */
enum reg free_register(unsigned used, const enum reg *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(used & 1u << list[i]))
			return list[i];
	return NO_REGISTER;
}

static uint64_t slot_bit(uint32_t slot)
{
	assert(slot % 8 == 0 && slot / 8 < 64);
	return 1ull << slot / 8;
}

void borrow_register(struct batch *batch, enum reg reg, uint32_t slot)
{
	assert(reg <= R15 && reg != RSP && !(batch->slots_in_use & slot_bit(slot)));
	batch->slots_in_use |= slot_bit(slot);
	emit_gs_store(batch->arena, reg, slot);
}

void give_register_back(struct batch *batch, enum reg reg, uint32_t slot)
{
	assert(reg <= R15 && reg != RSP && batch->slots_in_use & slot_bit(slot));
	batch->slots_in_use &= ~slot_bit(slot);
	emit_gs_load(batch->arena, reg, slot);
}
