/* Emits copies of the program's instructions.  What an operand's address is relative to has moved:
 * the copy's is corrected, or its address goes through a register.  With them it emits the counting
 * of repetitions, lanes and tiles: the units of one instruction (insn/work.h). */
#include "tracer/translate/copy.h"

#include "base/assert.h"

#include <string.h>

bool in_reach(const struct arena *arena, uint64_t target)
{
	int64_t rel = (int64_t)(target - arena_address(arena, (uint32_t)arena->used));
	return rel > -0x7fff0000ll && rel < 0x7fff0000ll;
}

/* Re-encodes an instruction whose rip-relative operand is out of reach: the operand's address
 * goes into a borrowed register `reg` and becomes the base: ModRM mod 00, rm = reg, no
 * displacement.  REX.B, VEX.B or EVEX.B must select the low registers (Intel SDM vol. 2, 2.1.5). */
static size_t rebase(const struct decoded *insn, enum reg reg, uint8_t *out)
{
	memcpy(out, insn->bytes, insn->length);
	uint8_t *encoding = out + insn->prefix_end;
	if ((encoding[0] & 0xf0) == 0x40)
		encoding[0] &= 0xfe;
	else if (encoding[0] == 0xc4 || encoding[0] == 0x62 ||
		 (encoding[0] == 0x8f && (encoding[1] & 0x1f) >= 8))
		encoding[1] |= 0x20;
	out[insn->modrm_offset] = (uint8_t)((out[insn->modrm_offset] & 0x38) | reg);
	size_t tail = insn->disp_offset + 4;
	memmove(out + insn->disp_offset, insn->bytes + tail, insn->length - tail);
	return insn->length - 4;
}

static void emit_far_copy(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	uint8_t bytes[LONGEST_INSN];
	enum reg reg = free_register(decode_used_registers(insn), low_registers,
				     N_REGISTERS(low_registers));
	borrow_register(batch, reg, G_SPILL_FAR);
	emit_mov_imm64(arena, reg, insn->target);
	arena_note_field(arena, FIELD_IN_MODULE, -8, 0);
	batch_piece_of(batch, (struct piece){.kind = PIECE_FAR, .orig = orig, .reg = (uint8_t)reg});
	arena_append(arena, bytes, rebase(insn, reg, bytes));
	batch_piece(batch, PIECE_STEP, orig);
	give_register_back(batch, reg, G_SPILL_FAR);
}

static void emit_copy(struct batch *batch, const struct decoded *insn, uint16_t orig)
{
	struct arena *arena = batch->arena;
	if (insn->rip_relative && !in_reach(arena, insn->target)) {
		emit_far_copy(batch, insn, orig);
		return;
	}
	uint8_t bytes[LONGEST_INSN];
	memcpy(bytes, insn->bytes, insn->length);
	if (insn->rip_relative) {
		const uint64_t next = arena_address(arena, (uint32_t)arena->used + insn->length);
		const int32_t rel = (int32_t)(insn->target - next);
		assert(next + (uint64_t)(int64_t)rel == insn->target);
		memcpy(bytes + insn->disp_offset, &rel, sizeof(rel));
		arena_note_field(arena, FIELD_TO_MODULE, insn->disp_offset, 0);
	}
	arena_append(arena, bytes, insn->length);
}

/* ---- units ---- */

bool emit_units_possible(const struct decoded *insn)
{
	switch (insn->units.units) {
	case UNITS_KMASK:
	case UNITS_VMASK:
		return decode_mask_is_here(&insn->units);
	case UNITS_REP:
	case UNITS_TILE:
		return true;
	default:
		return false;
	}
}

/* A row of units for the instruction at pc, with `n` counters; its number. */
static uint32_t new_unit(struct batch *batch, uint64_t pc, uint32_t n, enum unit_kind kind)
{
	struct code_cache *cache = batch->cache;
	struct unit_counter unit = {.counter = cache->n_counters,
				    .kind = kind,
				    .block = batch->block};
	cache->n_counters += n;
	const struct code_source *source = &batch->translator->source;
	source->locate(source->context, pc, &unit.module, &unit.module_offset);
	batch_push(batch, cache->units, cache->n_units, cache->cap_units, unit);
	return (uint32_t)cache->n_units - 1;
}

/* A counter for the units of the instruction at pc. */
static uint32_t new_unit_counter(struct batch *batch, uint64_t pc)
{
	const uint32_t counter = batch->cache->n_counters;
	new_unit(batch, pc, 1, UNIT_WORK);
	return counter;
}

uint32_t new_call_counters(struct batch *batch, uint64_t pc)
{
	const uint32_t counter = batch->cache->n_counters;
	new_unit(batch, pc, CALL_COUNTERS, UNIT_CALL);
	return counter;
}

uint32_t new_out(struct batch *batch, uint64_t pc)
{
	return new_unit(batch, pc, 0, UNIT_OUT);
}

/* eax = mask of the lanes that the instruction works on. */
static void emit_read_lanes(struct arena *arena, const struct work *work)
{
	if (work->units == UNITS_KMASK)
		emit_read_mask(arena, RAX, work->unit_reg, work->lanes);
	else
		emit_read_signs(arena, RAX, work->unit_reg, work->unit_element_bits, work->lanes);
	if (work->lanes < 16)
		emit_and_eax(arena, (1u << work->lanes) - 1);
}

static void emit_rep_before(struct batch *batch, uint32_t counter)
{
	struct arena *arena = batch->arena;
	borrow_register(batch, RAX, G_SPILL_COUNT);
	emit_gs_load(arena, RAX, counter_offset(counter));
	emit_lea(arena, RAX, mem_indexed(RAX, RCX, 1, 0));
	emit_gs_store(arena, RAX, counter_offset(counter));
	give_register_back(batch, RAX, G_SPILL_COUNT);
}

/* Counts an AMX instruction: rows * bytes of a row of its tile, from the configuration that
 * sttilecfg wrote (Intel SDM vol. 1, 18.2: bytes of a row from byte 16, rows from byte 48).  A
 * product's units are rows(dst) * colsb(dst)/4 * colsb(src1)/4. */
static void emit_tile_before(struct batch *batch, const struct work *work, uint32_t counter)
{
	struct arena *arena = batch->arena;
	const bool is_product = work->flop_lanes || work->intop_lanes;
	borrow_register(batch, RAX, G_SPILL_COUNT);
	borrow_register(batch, RCX, G_SPILL_FAR);
	emit_save_flags(arena);
	emit_gs_store(arena, RAX, G_SPILL_FLAGS);
	emit_store_tile_config(arena, gs_at(G_TILECFG));
	emit_load_8(arena, RAX, gs_at(G_TILECFG + 48u + work->unit_reg));
	emit_load_16(arena, RCX, gs_at(G_TILECFG + 16 + 2u * work->unit_reg));
	emit_imul(arena, RAX, RCX);
	if (is_product) {
		emit_load_16(arena, RCX, gs_at(G_TILECFG + 16 + 2u * work->unit_reg2));
		emit_imul(arena, RAX, RCX);
		emit_shr(arena, RAX, 4);
	}
	emit_store_32(arena, RAX, gs_at(G_UNITS));
	emit_add_to(arena, RAX, gs_at(counter_offset(counter)));
	emit_gs_load(arena, RAX, G_SPILL_FLAGS);
	emit_restore_flags(arena);
	give_register_back(batch, RCX, G_SPILL_FAR);
	give_register_back(batch, RAX, G_SPILL_COUNT);
}

static void emit_lanes_before(struct batch *batch, const struct work *work, uint32_t counter,
			      bool flags_dead)
{
	struct arena *arena = batch->arena;
	borrow_register(batch, RAX, G_SPILL_COUNT);
	if (!flags_dead) {
		emit_save_flags(arena);
		emit_gs_store(arena, RAX, G_SPILL_FAR);
	}
	emit_read_lanes(arena, work);
	emit_popcnt(arena, RAX);
	emit_store_32(arena, RAX, gs_at(G_UNITS));
	emit_add_to(arena, RAX, gs_at(counter_offset(counter)));
	if (!flags_dead) {
		emit_gs_load(arena, RAX, G_SPILL_FAR);
		emit_restore_flags(arena);
	}
	give_register_back(batch, RAX, G_SPILL_COUNT);
}

/* Counts the units of `insn` before it runs.  `flags_dead`: the status flags may be changed here.
 */
static void emit_units_before(struct batch *batch, const struct decoded *insn, uint32_t counter,
			      bool flags_dead)
{
	const struct work *work = &insn->units;
	if (work->units == UNITS_REP)
		emit_rep_before(batch, counter);
	else if (work->units == UNITS_TILE)
		emit_tile_before(batch, work, counter);
	else
		emit_lanes_before(batch, work, counter, flags_dead);
}

/* cmps and scas: the only strings that repe and repne end early. */
static bool may_end_early(const struct decoded *insn)
{
	const uint8_t opcode = insn->bytes[insn->length - 1];
	return opcode == 0xa6 || opcode == 0xa7 || opcode == 0xae || opcode == 0xaf;
}

/* For strings that may end early: takes back what was left of rcx.  counter -= rcx, as counter +
 * (-rcx - 1) + 1, which changes no flags. */
static void emit_units_after(struct batch *batch, const struct decoded *insn, uint32_t counter)
{
	struct arena *arena = batch->arena;
	if (insn->units.units != UNITS_REP || !may_end_early(insn))
		return;
	borrow_register(batch, RAX, G_SPILL_COUNT);
	borrow_register(batch, RCX, G_SPILL_FAR);
	emit_not(arena, RCX);
	emit_gs_load(arena, RAX, counter_offset(counter));
	emit_lea(arena, RAX, mem_indexed(RAX, RCX, 1, 1));
	emit_gs_store(arena, RAX, counter_offset(counter));
	give_register_back(batch, RCX, G_SPILL_FAR);
	give_register_back(batch, RAX, G_SPILL_COUNT);
}

void emit_plain(struct batch *batch, const struct planned *item, uint16_t orig)
{
	const struct decoded *insn = &item->insn;
	if (!emit_units_possible(insn)) {
		emit_copy(batch, insn, orig);
		return;
	}
	uint32_t counter = new_unit_counter(batch, insn->pc);
	batch_piece(batch, PIECE_STEP, orig);
	emit_units_before(batch, insn, counter, item->dead == DEAD_ALL);
	batch_piece(batch, insn->units.units == UNITS_REP ? PIECE_REP : PIECE_UNITS, orig);
	emit_copy(batch, insn, orig);
	batch_piece(batch, PIECE_STEP, orig);
	emit_units_after(batch, insn, counter);
}
