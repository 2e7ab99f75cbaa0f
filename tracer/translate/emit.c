#include "tracer/translate/emit.h"

#include "insn/decode.h"

void emit_nops(struct arena *arena, size_t n)
{
	static const uint8_t nops[9][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};
	while (n) {
		size_t length = n < 9 ? n : 9;
		emit_bytes(arena, nops[length - 1], length);
		n -= length;
	}
}

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

/* eax = mask bits of k-register `k`: kmovw for up to 16 lanes (AVX512F), kmovd and kmovq (AVX512BW,
 * which every instruction with more lanes needs too). */
static void emit_read_kmask(struct arena *arena, unsigned k, unsigned lanes)
{
	if (lanes <= 16)
		EMIT(arena, 0xc5, 0xf8, 0x93, (uint8_t)(0xc0 | k));
	else if (lanes <= 32)
		EMIT(arena, 0xc5, 0xfb, 0x93, (uint8_t)(0xc0 | k));
	else
		EMIT(arena, 0xc4, 0xe1, 0xfb, 0x93, (uint8_t)(0xc0 | k));
}

/* eax = sign bits of the elements of a vector register: vmovmskps, vmovmskpd, (v)pmovmskb. */
static void emit_read_vmask(struct arena *arena, const struct work *work)
{
	const unsigned reg = work->unit_reg;
	const bool is_256 = work->lanes * work->unit_element_bits > 128;
	const uint8_t opcode = work->unit_element_bits == 8 ? 0xd7 : 0x50;
	const uint8_t prefix = work->unit_element_bits == 32 ? 0 : 1; /* pp: none or 66 */
	if (work->unit_element_bits == 8 && work->lanes == 8) {       /* an MMX register */
		EMIT(arena, 0x0f, 0xd7, (uint8_t)(0xc0 | (reg & 7)));
		return;
	}
	EMIT(arena, 0xc4, (uint8_t)(reg < 8 ? 0xe1 : 0xc1), (uint8_t)(0x78 | is_256 << 2 | prefix),
	     opcode, (uint8_t)(0xc0 | (reg & 7)));
}

static void emit_keep_low_lanes(struct arena *arena, unsigned lanes)
{
	if (lanes < 16) { /* and $mask, %eax */
		EMIT(arena, 0x25);
		emit_u32(arena, (1u << lanes) - 1);
	}
}

static void emit_rep_before(struct arena *arena, uint32_t counter)
{
	emit_gs_store(arena, RAX, G_SPILL_COUNT);
	emit_gs_load(arena, RAX, counter_offset(counter));
	EMIT(arena, 0x48, 0x8d, 0x04, 0x08); /* lea (%rax,%rcx), %rax */
	emit_gs_store(arena, RAX, counter_offset(counter));
	emit_gs_load(arena, RAX, G_SPILL_COUNT);
}

/* movzbl or movzwl %gs:offset, %reg */
static void emit_gs_load_small(struct arena *arena, enum reg reg, bool is_word, uint32_t offset)
{
	EMIT(arena, 0x65, 0x0f, is_word ? 0xb7 : 0xb6, (uint8_t)(0x04 | reg << 3), 0x25);
	emit_u32(arena, offset);
}

/* rax = rows * bytes of a row of tile `tile`, from the configuration that sttilecfg wrote (Intel
 * SDM vol. 1, 18.2: bytes of a row from byte 16, rows from byte 48). */
static void emit_tile_bytes(struct arena *arena, unsigned tile)
{
	emit_gs_load_small(arena, RAX, false, G_TILECFG + 48 + tile);
	emit_gs_load_small(arena, RCX, true, G_TILECFG + 16 + 2 * tile);
	EMIT(arena, 0x48, 0x0f, 0xaf, 0xc1); /* imul %rcx, %rax */
}

/* Counts an AMX instruction.  A product's units are rows(dst) * colsb(dst)/4 * colsb(src1)/4. */
static void emit_tile_before(struct arena *arena, const struct work *work, uint32_t counter)
{
	const bool is_product = work->flop_lanes || work->intop_lanes;
	emit_gs_store(arena, RAX, G_SPILL_COUNT);
	emit_gs_store(arena, RCX, G_SPILL_FAR);
	EMIT(arena, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
	emit_gs_store(arena, RAX, G_SPILL_FLAGS);
	EMIT(arena, 0x65, 0xc4, 0xe2, 0x79, 0x49, 0x04, 0x25); /* sttilecfg %gs:G_TILECFG */
	emit_u32(arena, G_TILECFG);
	emit_tile_bytes(arena, work->unit_reg);
	if (is_product) {
		emit_gs_load_small(arena, RCX, true, G_TILECFG + 16 + 2u * work->unit_reg2);
		EMIT(arena, 0x48, 0x0f, 0xaf, 0xc1); /* imul %rcx, %rax */
		EMIT(arena, 0x48, 0xc1, 0xe8, 0x04); /* shr $4, %rax */
	}
	EMIT(arena, 0x65, 0x48, 0x01, 0x04, 0x25); /* add %rax, %gs:counter */
	emit_u32(arena, counter_offset(counter));
	emit_gs_load(arena, RAX, G_SPILL_FLAGS);
	EMIT(arena, 0x04, 0x7f, 0x9e); /* add $0x7f, %al (sets OF); sahf */
	emit_gs_load(arena, RCX, G_SPILL_FAR);
	emit_gs_load(arena, RAX, G_SPILL_COUNT);
}

void emit_units_before(struct arena *arena, const struct decoded *insn, uint32_t counter,
		       bool flags_dead)
{
	const struct work *work = &insn->units;
	if (work->units == UNITS_REP) {
		emit_rep_before(arena, counter);
		return;
	}
	if (work->units == UNITS_TILE) {
		emit_tile_before(arena, work, counter);
		return;
	}
	emit_gs_store(arena, RAX, G_SPILL_COUNT);
	if (!flags_dead) {
		EMIT(arena, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
		emit_gs_store(arena, RAX, G_SPILL_FAR);
	}
	if (work->units == UNITS_KMASK)
		emit_read_kmask(arena, work->unit_reg, work->lanes);
	else
		emit_read_vmask(arena, work);
	emit_keep_low_lanes(arena, work->lanes);
	EMIT(arena, 0xf3, 0x48, 0x0f, 0xb8, 0xc0); /* popcnt %rax, %rax */
	EMIT(arena, 0x65, 0x48, 0x01, 0x04, 0x25); /* add %rax, %gs:counter */
	emit_u32(arena, counter_offset(counter));
	if (!flags_dead) {
		emit_gs_load(arena, RAX, G_SPILL_FAR);
		EMIT(arena, 0x04, 0x7f, 0x9e); /* add $0x7f, %al (sets OF); sahf */
	}
	emit_gs_load(arena, RAX, G_SPILL_COUNT);
}

void emit_units_after(struct arena *arena, const struct decoded *insn, uint32_t counter)
{
	const uint8_t opcode = insn->bytes[insn->length - 1];
	const bool may_end_early =
		opcode == 0xa6 || opcode == 0xa7 || opcode == 0xae || opcode == 0xaf;
	if (insn->units.units != UNITS_REP || !may_end_early)
		return;
	emit_gs_store(arena, RAX, G_SPILL_COUNT);
	emit_gs_store(arena, RCX, G_SPILL_FAR);
	EMIT(arena, 0x48, 0xf7, 0xd1); /* not %rcx: -rcx - 1, without touching flags */
	emit_gs_load(arena, RAX, counter_offset(counter));
	EMIT(arena, 0x48, 0x8d, 0x44, 0x08, 0x01); /* lea 1(%rax,%rcx), %rax */
	emit_gs_store(arena, RAX, counter_offset(counter));
	emit_gs_load(arena, RCX, G_SPILL_FAR);
	emit_gs_load(arena, RAX, G_SPILL_COUNT);
}
