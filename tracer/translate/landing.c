/* Emits entries and landings: each compares the address that was jumped or returned to with its
 * own, and goes back to the gate when another one with the same low 16 bits was meant. */
#include "tracer/translate/landing.h"

#include "tracer/translate/way.h"

/* Below 2 GiB an address is a sign-extended 32-bit immediate. */
static bool is_low(uint64_t pc)
{
	return pc < 1u << 31;
}

static void add_new_entry(struct batch *batch, uint64_t key, uint32_t at, bool replaces)
{
	struct translator *translator = batch->translator;
	struct new_entry new = {key, arena_address(batch->arena, at), replaces};
	batch_push(batch, translator->new_entries, translator->n_new_entries,
		   translator->cap_new_entries, new);
}

/* Goes on where rcx is pc, and then it is 0; else at `other`, close by, with what it is more.  No
 * status flags change; `reg` does where pc is no immediate.
 *
 * LOOP counts rcx down and jumps unless it is 0 then: nothing is taken but a mismatch.  A JRCXZ
 * that is always taken took 5 ns more a turn in a loop of 16 cases on Zen 4: it takes room in the
 * history of branches that the indirect jump before it is predicted by.  Intel's LOOP is microcode
 * (Agner Fog, Instruction tables). */
static void emit_check(struct batch *batch, uint64_t pc, enum reg reg, struct label *other)
{
	struct arena *arena = batch->arena;
	const bool loops = !batch->translator->loop_is_slow;
	struct label equal = {0};
	if (is_low(pc)) {
		emit_lea(arena, RCX, mem_at(RCX, loops - (int32_t)pc));
	} else {
		emit_mov_imm64(arena, reg, -pc);
		arena_note_field(arena, FIELD_MINUS_PC, -8, pc);
		emit_lea(arena, RCX, mem_indexed(RCX, reg, 1, loops));
	}
	if (loops) {
		emit_loop_to(arena, other);
		return;
	}
	emit_jrcxz(arena, &equal);
	emit_jump_short(arena, other);
	label_bind(arena, &equal);
}

uint32_t emit_entry(struct batch *batch, uint64_t pc)
{
	struct arena *arena = batch->arena;
	struct label other = label_at((uint32_t)arena->used);
	batch_piece(batch, PIECE_STEP, 0);
	if (is_low(pc))
		emit_mov_simm32(arena, RAX, -(int32_t)pc);
	emit_jump_through(arena, gs_at(G_AT_COLLIDE));
	const uint32_t entry = (uint32_t)arena->used;
	add_new_entry(batch, pc, entry, false);
	emit_check(batch, pc, RAX, &other);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RAX, G_SPILL_RAX);
	return entry;
}

/* ---- returns ----
 *
 * Threads come to a landing with the program's return address still on top of the stack. */

static void emit_unless_equal_go_back(struct arena *arena)
{
	struct label back = label_at(ARENA_TO_RETURN);
	emit_branch(arena, CONDITION_NOT_EQUAL, &back);
}

/* The low 16 bits led here.  The high 16 are those of no address of a program, or all alike. */
static void emit_check_with_flags(struct arena *arena, uint64_t pc)
{
	if (is_low(pc)) {
		emit_compare_64(arena, (uint32_t)pc, mem_at(RSP, 0));
	} else {
		emit_compare_32(arena, (uint32_t)(pc >> 16), mem_at(RSP, 2));
		arena_note_field(arena, FIELD_PC_MIDDLE, -4, pc);
	}
	emit_unless_equal_go_back(arena);
}

static void emit_check_without_flags(struct batch *batch, uint64_t pc)
{
	struct arena *arena = batch->arena;
	struct label other = {0}, behind = {0};
	emit_gs_store(arena, RCX, G_SPILL_RCX);
	emit_gs_store(arena, RDI, G_SPILL_RDI);
	emit_load(arena, RCX, mem_at(RSP, 0));
	emit_check(batch, pc, RDI, &other);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
	/* calls return to the first byte: there is no room for the other way before it */
	emit_jump_short(arena, &behind);
	label_bind(arena, &other);
	emit_gs_load(arena, RCX, G_SPILL_RCX);
	emit_gs_load(arena, RDI, G_SPILL_RDI);
	emit_jump_through(arena, gs_at(G_AT_RETURN));
	label_bind(arena, &behind);
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
		emit_check_without_flags(batch, pc);
	else
		emit_check_with_flags(arena, pc);
	emit_drop_word(arena);
	landing.behind = (uint32_t)arena->used;
	batch_push(batch, cache->landings, cache->n_landings, cache->cap_landings, landing);
	if (batch->failed)
		return;
	*cell = (uint32_t)cache->n_landings;
	if (!pc_index_set(&cache->landing_of_pc, pc, *cell - 1))
		batch_check(batch, rf_error_no_memory());
}

void emit_landing(struct batch *batch, uint64_t pc, bool flags_dead)
{
	const bool keeps_flags = !flags_dead || code_cache_cell_has(batch->cache, pc, true);
	emit_one_landing(batch, pc, keeps_flags, false);
	if (!flags_dead && code_cache_cell_has(batch->cache, pc, false))
		batch_push(batch, batch->exclusive, batch->n_exclusive, batch->cap_exclusive, pc);
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
		struct label behind = label_at(old.behind);
		emit_jump(batch->arena, &behind);
		batch->arena = own;
	}
}

void emit_replaced_landings(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_exclusive; i++)
		replace_landings(batch, batch->exclusive[i]);
}
