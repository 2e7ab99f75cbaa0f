#include "tracer/translate/batch.h"

#include "base/array.h"

/* Below 2 GiB an address is a sign-extended 32-bit immediate. */
static bool is_low(uint64_t pc)
{
	return pc < 1u << 31;
}

static void add_new_entry(struct batch *batch, uint64_t key, uint32_t at, bool replaces)
{
	struct translator *translator = batch->translator;
	struct new_entry new = {key, arena_address(batch->arena, at), replaces};
	batch_check(batch, rf_array_push(translator->new_entries, translator->n_new_entries,
					 translator->cap_new_entries, new));
}

/* rcx -= pc, through `reg` where pc is no immediate; then over the next `skip` bytes if rcx is 0.
 */
static void emit_compare(struct arena *arena, uint64_t pc, enum reg reg, uint8_t skip)
{
	if (is_low(pc)) {
		EMIT(arena, 0x48, 0x8d, 0x89); /* lea -pc(%rcx), %rcx */
		emit_u32(arena, (uint32_t) - (int64_t)pc);
	} else {
		emit_mov_imm64(arena, reg, -pc);
		EMIT(arena, 0x48, 0x8d, 0x0c,
		     (uint8_t)(reg << 3 | RCX)); /* lea (%rcx,%reg), %rcx */
	}
	EMIT(arena, 0xe3, skip); /* jrcxz */
}

void emit_entry(struct batch *batch, uint64_t pc)
{
	struct arena *arena = batch->arena;
	add_new_entry(batch, pc, (uint32_t)arena->used, false);
	batch_piece(batch, PIECE_STEP, 0);
	emit_compare(arena, pc, RAX, is_low(pc) ? 15 : 8);
	if (is_low(pc)) {
		EMIT(arena, 0x48, 0xc7, 0xc0); /* mov $-pc, %rax */
		emit_u32(arena, (uint32_t) - (int64_t)pc);
	}
	emit_gs_jump(arena, G_AT_COLLIDE);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RAX, G_SPILL_RAX);
}

/* ---- returns ---- */

static void emit_unless_equal_go_back(struct arena *arena)
{
	EMIT(arena, 0x0f, 0x85); /* jne */
	emit_u32(arena, 0);
	emit_rel32_at(arena, (uint32_t)arena->used - 4, ARENA_TO_RETURN);
}

static void emit_check_with_flags(struct arena *arena, uint64_t pc)
{
	if (is_low(pc)) {
		EMIT(arena, 0x48, 0x81, 0x7c, 0x24, 0xf8); /* cmpq $pc, -8(%rsp) */
		emit_u32(arena, (uint32_t)pc);
	} else {
		EMIT(arena, 0x81, 0x7c, 0x24, 0xf8); /* cmpl $low half, -8(%rsp) */
		emit_u32(arena, (uint32_t)pc);
		emit_unless_equal_go_back(arena);
		EMIT(arena, 0x81, 0x7c, 0x24, 0xfc); /* cmpl $high half, -4(%rsp) */
		emit_u32(arena, (uint32_t)(pc >> 32));
	}
	emit_unless_equal_go_back(arena);
}

static void emit_check_without_flags(struct arena *arena, uint64_t pc)
{
	emit_gs_store(arena, RCX, G_SPILL_RCX);
	emit_gs_store(arena, RDI, G_SPILL_RDI);
	EMIT(arena, 0x48, 0x8b, 0x4c, 0x24, 0xf8); /* mov -8(%rsp), %rcx */
	emit_compare(arena, pc, RDI, 26);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
	emit_gs_jump(arena, G_AT_RETURN);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
}

static void emit_one_landing(struct batch *batch, uint64_t pc, bool keeps_flags, bool replaces)
{
	struct code_cache *cache = batch->cache;
	struct arena *arena = batch->arena;
	uint32_t *cell = &cache->landing_of_cell[pc & 0xffff];
	struct landing landing = {
		.pc = pc,
		.at = (uint32_t)arena->used,
		.next = *cell,
		.arena = (uint8_t)(arena - cache->arenas),
		.keeps_flags = keeps_flags,
	};
	add_new_entry(batch, pc | RETURN_KEY, landing.at, replaces);
	batch_piece(batch, PIECE_STEP, 0);
	if (keeps_flags)
		emit_check_without_flags(arena, pc);
	else
		emit_check_with_flags(arena, pc);
	landing.behind = (uint32_t)arena->used;
	batch_check(batch, rf_array_push(cache->landings, cache->n_landings, cache->cap_landings,
					 landing) &&
				   u64_map_set(&cache->landing_of_pc, pc,
					       (uint32_t)cache->n_landings - 1));
	if (!batch->failed)
		*cell = (uint32_t)cache->n_landings;
}

/* Whether a landing in the same cell of the return table keeps (or does not keep) the flags. */
static bool cell_has(const struct code_cache *cache, uint64_t pc, bool keeps_flags)
{
	for (uint32_t i = cache->landing_of_cell[pc & 0xffff]; i; i = cache->landings[i - 1].next)
		if (cache->landings[i - 1].keeps_flags == keeps_flags &&
		    cache->landings[i - 1].pc != pc)
			return true;
	return false;
}

void emit_landing(struct batch *batch, uint64_t pc, bool flags_dead)
{
	const bool keeps_flags = !flags_dead || cell_has(batch->cache, pc, true);
	emit_one_landing(batch, pc, keeps_flags, false);
	if (!flags_dead && cell_has(batch->cache, pc, false))
		batch_check(batch, rf_array_push(batch->exclusive, batch->n_exclusive,
						 batch->cap_exclusive, pc));
}

/* A thread may come to the landing of one address when it returns to another one of the same cell;
 * where that one's flags matter, the check must not change them. */
static void replace_landings(struct batch *batch, uint64_t pc)
{
	struct code_cache *cache = batch->cache;
	for (uint32_t i = cache->landing_of_cell[pc & 0xffff]; i && !batch->failed;) {
		const struct landing old = cache->landings[i - 1];
		const struct landing *newest = code_cache_landing(cache, old.pc);
		i = old.next;
		if (old.keeps_flags || !newest || newest->keeps_flags ||
		    !code_cache_has_room(&cache->arenas[old.arena]))
			continue;
		struct arena *const own = batch->arena;
		batch->arena = &cache->arenas[old.arena];
		batch->block = NO_BLOCK;
		emit_one_landing(batch, old.pc, true, true);
		emit_jump_to(batch->arena, old.behind);
		batch->arena = own;
	}
}

void emit_replaced_landings(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_exclusive; i++)
		replace_landings(batch, batch->exclusive[i]);
}
