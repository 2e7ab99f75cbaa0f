/* Encodes the instructions that rfprof adds to a program's code (Intel SDM vol. 2, 2.1 to 2.7). */
#include "tracer/translate/assemble.h"

#include "base/assert.h"
#include "tracer/gate/protocol.h"

#include <string.h>

#define APPEND(arena, ...)                                    \
	arena_append((arena), (const uint8_t[]){__VA_ARGS__}, \
		     sizeof((const uint8_t[]){__VA_ARGS__}))

#define PREFIX_GS 0x65
#define REX 0x40 /* with an 8-bit register it makes 4 to 7 spl, bpl, sil and dil */
#define REX_W 0x48
#define TWO_BYTES 0x0f00 /* an opcode behind 0f */

static void append_u32(struct arena *arena, uint32_t value)
{
	arena_append(arena, &value, sizeof(value));
}

static void append_u64(struct arena *arena, uint64_t value)
{
	arena_append(arena, &value, sizeof(value));
}

/* The highest bit of a register's number, which stands in a prefix. */
static uint8_t high(enum reg reg)
{
	return reg == NO_REGISTER ? 0 : reg >> 3 & 1;
}

/* ModRM, SIB and displacement, with `field` as ModRM.reg. */
static void append_address(struct arena *arena, unsigned field, struct address address)
{
	const uint8_t reg = (uint8_t)((field & 7) << 3);
	const uint8_t scale = (uint8_t)(__builtin_ctz(address.scale) << 6);
	const int32_t displacement = address.displacement;
	const uint8_t index = address.index & 7, base = address.base & 7;
	assert(address.index != RSP);
	if (address.base == NO_REGISTER) {
		APPEND(arena, reg | 4,
		       address.index == NO_REGISTER ? 0x25 : scale | index << 3 | 5);
		append_u32(arena, (uint32_t)displacement);
		return;
	}
	const bool is_short = displacement >= -128 && displacement <= 127;
	const uint8_t mod = displacement == 0 && base != RBP ? 0 : is_short ? 0x40 : 0x80;
	if (address.index != NO_REGISTER)
		APPEND(arena, mod | reg | 4, (uint8_t)(scale | index << 3 | base));
	else if (base == RSP)
		APPEND(arena, mod | reg | 4, 0x24);
	else
		APPEND(arena, mod | reg | base);
	if (mod == 0x40)
		APPEND(arena, (uint8_t)displacement);
	else if (mod == 0x80)
		append_u32(arena, (uint32_t)displacement);
}

/* `rex`: 0 when there need not be such a prefix. */
static void append_opcode(struct arena *arena, uint8_t rex, uint16_t opcode)
{
	if (rex)
		APPEND(arena, rex);
	if (opcode >= TWO_BYTES)
		APPEND(arena, 0x0f);
	APPEND(arena, (uint8_t)opcode);
}

static uint8_t rex_of(uint8_t rex, enum reg reg, enum reg index, enum reg base)
{
	const uint8_t bits = (uint8_t)(high(reg) << 2 | high(index) << 1 | high(base));
	return bits ? REX | rex | bits : rex;
}

/* An instruction with a register, or a part of the opcode, and an address. */
static void append_memory(struct arena *arena, uint8_t rex, uint16_t opcode, unsigned field,
			  struct address address)
{
	if (address.is_gs)
		APPEND(arena, PREFIX_GS);
	append_opcode(arena, rex_of(rex, field, address.index, address.base), opcode);
	append_address(arena, field, address);
}

/* The same with a register in the place of the address. */
static void append_registers(struct arena *arena, uint8_t rex, uint16_t opcode, unsigned field,
			     unsigned rm)
{
	append_opcode(arena, rex_of(rex, field, NO_REGISTER, rm), opcode);
	APPEND(arena, (uint8_t)(0xc0 | (field & 7) << 3 | (rm & 7)));
}

/* ---- VEX ---- */

enum vex_map { MAP_0F = 1, MAP_0F38 = 2, MAP_0F3A = 3 };
enum vex_prefix { VEX_NONE, VEX_66, VEX_F3, VEX_F2 };

struct vex {
	uint8_t map, prefix, opcode;
	bool is_wide, is_256;
	uint8_t source; /* VEX.vvvv */
};

static uint8_t vex_last(const struct vex *vex)
{
	return (uint8_t)(vex->is_wide << 7 | (~vex->source & 15) << 3 | vex->is_256 << 2 |
			 vex->prefix);
}

/* The long form. */
static void append_vex(struct arena *arena, const struct vex *vex, unsigned field, unsigned base)
{
	APPEND(arena, 0xc4, (uint8_t)(!high(field) << 7 | 0x40 | !high(base) << 5 | vex->map),
	       vex_last(vex), vex->opcode);
}

/* The short form, for registers below 8 in the place of the address, map 0f, W 0. */
static void append_short_vex(struct arena *arena, const struct vex *vex, unsigned field)
{
	assert(vex->map == MAP_0F && !vex->is_wide);
	APPEND(arena, 0xc5, (uint8_t)(!high(field) << 7 | vex_last(vex)), vex->opcode);
}

static void append_vex_memory(struct arena *arena, const struct vex *vex, unsigned field,
			      struct address address)
{
	assert(address.base == NO_REGISTER && address.index == NO_REGISTER);
	if (address.is_gs)
		APPEND(arena, PREFIX_GS);
	append_vex(arena, vex, field, 0);
	append_address(arena, field, address);
}

/* ---- labels ---- */

static void set_field(struct arena *arena, struct label_use use, uint32_t destination)
{
	const int64_t distance = (int64_t)destination - (use.site + use.size);
	if (use.size == 1) {
		assert(distance == (int8_t)distance);
		arena->host[use.site] = (uint8_t)distance;
	} else {
		const int32_t rel = (int32_t)distance;
		assert(distance == rel && use.size == sizeof(rel));
		memcpy(arena->host + use.site, &rel, sizeof(rel));
	}
}

/* Appends a field that aims at the label. */
static void use_label(struct arena *arena, struct label *label, uint8_t size)
{
	const struct label_use use = {(uint32_t)arena->used, size};
	const uint8_t open[4] = {0};
	arena_append(arena, open, size);
	if (label->at) {
		set_field(arena, use, label->at);
		return;
	}
	assert(label->n_uses < MAX_LABEL_USES);
	label->uses[label->n_uses++] = use;
	arena->n_open++;
}

void label_bind(struct arena *arena, struct label *label)
{
	label_bind_to(arena, label, (uint32_t)arena->used);
}

void label_bind_to(struct arena *arena, struct label *label, uint32_t at)
{
	assert(!label->at && arena->n_open >= label->n_uses && at <= arena->used);
	label->at = at;
	arena->n_open -= label->n_uses;
	for (unsigned i = 0; i < label->n_uses; i++)
		set_field(arena, label->uses[i], label->at);
}

uint32_t label_hand_over(const struct label *label)
{
	assert(!label->at && label->n_uses == 1 && label->uses[0].size == 4);
	return label->uses[0].site;
}

void arena_aim(struct arena *arena, uint32_t site, uint32_t destination)
{
	assert(arena->n_open && destination <= arena->used);
	arena->n_open--;
	set_field(arena, (struct label_use){site, 4}, destination);
}

/* ---- instructions ---- */

#define WITH_LABEL(name, size, ...)                         \
	void name(struct arena *arena, struct label *label) \
	{                                                   \
		APPEND(arena, __VA_ARGS__);                 \
		use_label(arena, label, size);              \
	}
#define AT_ADDRESS(name, rex, opcode, digit)                       \
	void name(struct arena *arena, struct address address)     \
	{                                                          \
		append_memory(arena, rex, opcode, digit, address); \
	}
#define IMMEDIATE_AT_ADDRESS(name, rex, opcode, digit)                         \
	void name(struct arena *arena, uint32_t value, struct address address) \
	{                                                                      \
		append_memory(arena, rex, opcode, digit, address);             \
		append_u32(arena, value);                                      \
	}
#define REGISTER_AND_ADDRESS(name, rex, opcode)                              \
	void name(struct arena *arena, enum reg reg, struct address address) \
	{                                                                    \
		append_memory(arena, rex, opcode, reg, address);             \
	}
#define TWO_REGISTERS(name, rex, opcode)                           \
	void name(struct arena *arena, enum reg to, enum reg from) \
	{                                                          \
		append_registers(arena, rex, opcode, to, from);    \
	}
#define VEX_WITH_ADDRESS(name, prefix, opcode)                                                \
	void name(struct arena *arena, enum reg reg, struct address address)                  \
	{                                                                                     \
		const struct vex vex = {MAP_0F38, prefix, opcode, true, false, (uint8_t)reg}; \
		append_vex_memory(arena, &vex, reg, address);                                 \
	}
#define BYTES(name, ...)                    \
	void name(struct arena *arena)      \
	{                                   \
		APPEND(arena, __VA_ARGS__); \
	}
#include "tracer/translate/assemble.def"

void emit_branch(struct arena *arena, uint8_t condition, struct label *label)
{
	assert(condition < 16);
	APPEND(arena, 0x0f, 0x80 | condition);
	use_label(arena, label, 4);
}

void emit_short_transfer(struct arena *arena, const uint8_t *bytes, size_t n, struct label *label)
{
	arena_append(arena, bytes, n - 1);
	use_label(arena, label, 1);
}

/* ModRM 00 reg 101: relative to the next instruction. */
void emit_lea_label(struct arena *arena, enum reg reg, struct label *label)
{
	append_opcode(arena, rex_of(REX_W, reg, NO_REGISTER, NO_REGISTER), 0x8d);
	APPEND(arena, (uint8_t)((reg & 7) << 3 | 5));
	use_label(arena, label, 4);
}

void emit_jump_far(struct arena *arena, uint64_t target)
{
	APPEND(arena, 0xff, 4 << 3 | 5);
	append_u32(arena, 0);
	append_u64(arena, target);
	arena_note_field(arena, FIELD_IN_ARENA, -8, 0);
}

void emit_push_imm32(struct arena *arena, int32_t value)
{
	APPEND(arena, 0x68);
	append_u32(arena, (uint32_t)value);
}

void emit_return(struct arena *arena)
{
	APPEND(arena, 0xc3);
}

void emit_lea(struct arena *arena, enum reg reg, struct address address)
{
	assert(!address.is_gs);
	append_memory(arena, REX_W, 0x8d, reg, address);
}

void emit_mov_imm64(struct arena *arena, enum reg reg, uint64_t value)
{
	APPEND(arena, REX_W | high(reg), (uint8_t)(0xb8 | (reg & 7)));
	append_u64(arena, value);
}

void emit_mov_imm32(struct arena *arena, enum reg reg, uint32_t value)
{
	append_opcode(arena, rex_of(0, NO_REGISTER, NO_REGISTER, reg), (uint8_t)(0xb8 | (reg & 7)));
	append_u32(arena, value);
}

void emit_mov_simm32(struct arena *arena, enum reg reg, int32_t value)
{
	append_registers(arena, REX_W, 0xc7, 0, reg);
	append_u32(arena, (uint32_t)value);
}

void emit_read_fs_base(struct arena *arena, enum reg reg)
{
	APPEND(arena, 0xf3);
	append_registers(arena, REX_W, TWO_BYTES | 0xae, 0, reg);
}

void emit_not(struct arena *arena, enum reg reg)
{
	append_registers(arena, REX_W, 0xf7, 2, reg);
}

void emit_rorx(struct arena *arena, enum reg reg, uint8_t bits)
{
	const struct vex rorx = {MAP_0F3A, VEX_F2, 0xf0, true, false, 0};
	append_vex(arena, &rorx, reg, reg);
	APPEND(arena, (uint8_t)(0xc0 | (reg & 7) * 9), bits);
}

void emit_shr(struct arena *arena, enum reg reg, uint8_t bits)
{
	append_registers(arena, REX_W, 0xc1, 5, reg);
	APPEND(arena, bits);
}

void emit_and_eax(struct arena *arena, uint32_t mask)
{
	APPEND(arena, 0x25);
	append_u32(arena, mask);
}

void emit_popcnt(struct arena *arena, enum reg reg)
{
	APPEND(arena, 0xf3);
	append_registers(arena, REX_W, TWO_BYTES | 0xb8, reg, reg);
}

void emit_test_bits(struct arena *arena, enum reg reg, uint8_t bits)
{
	append_registers(arena, REX, 0xf6, 0, reg);
	APPEND(arena, bits);
}

void emit_compare_32_near(struct arena *arena, uint64_t address, uint32_t value)
{
	APPEND(arena, 0x81, 7 << 3 | 5);
	const uint64_t next = arena_address(arena, (uint32_t)arena->used + 8);
	const int64_t distance = (int64_t)(address - next);
	assert(distance == (int32_t)distance);
	arena_note_field(arena, FIELD_TO_MODULE, 0, 0);
	append_u32(arena, (uint32_t)distance);
	append_u32(arena, value);
}

/* ---- masks, vectors, tiles ---- */

void emit_read_mask(struct arena *arena, enum reg reg, uint8_t k, unsigned bits)
{
	const bool is_wide = bits > 32;
	const struct vex kmov = {MAP_0F, bits > 16 ? VEX_F2 : VEX_NONE, 0x93, is_wide, false, 0};
	assert(k < 8);
	if (is_wide)
		append_vex(arena, &kmov, reg, k);
	else
		append_short_vex(arena, &kmov, reg);
	APPEND(arena, (uint8_t)(0xc0 | (reg & 7) << 3 | k));
}

void emit_read_signs(struct arena *arena, enum reg reg, uint8_t vector, unsigned element_bits,
		     unsigned lanes)
{
	const struct vex movmsk = {
		.map = MAP_0F,
		.prefix = element_bits == 32 ? VEX_NONE : VEX_66,
		.opcode = element_bits == 8 ? 0xd7 : 0x50,
		.is_256 = lanes * element_bits > 128,
	};
	if (element_bits == 8 && lanes == 8) {
		append_registers(arena, 0, TWO_BYTES | 0xd7, reg, vector);
		return;
	}
	append_vex(arena, &movmsk, reg, vector);
	APPEND(arena, (uint8_t)(0xc0 | (reg & 7) << 3 | (vector & 7)));
}

void emit_store_ymm(struct arena *arena, uint8_t vector, struct address address)
{
	const struct vex vmovdqu = {MAP_0F, VEX_F3, 0x7f, false, true, 0};
	assert(address.is_gs && vector < 16);
	APPEND(arena, PREFIX_GS);
	append_short_vex(arena, &vmovdqu, vector);
	append_address(arena, vector, address);
}

/* EVEX.512.F3.0F.W1 7F /r; bits 3 and 4 of the register's number stand inverted in the prefix. */
void emit_store_zmm(struct arena *arena, uint8_t vector, struct address address)
{
	assert(address.is_gs && vector < 32);
	APPEND(arena, PREFIX_GS, 0x62, (uint8_t)(0x61 | !(vector & 8) << 7 | !(vector & 16) << 4),
	       0xfe, 0x48, 0x7f);
	append_address(arena, vector, address);
}

void emit_store_tile_config(struct arena *arena, struct address address)
{
	const struct vex sttilecfg = {MAP_0F38, VEX_66, 0x49, false, false, 0};
	append_vex_memory(arena, &sttilecfg, 0, address);
}
