/* Emits copies of the program's instructions.  What an operand's address is relative to has moved:
 * the copy's is corrected, or its address goes through a register. */
#include "tracer/translate/copy.h"

#include "base/assert.h"
#include "tracer/translate/units.h"

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
	}
	arena_append(arena, bytes, insn->length);
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
