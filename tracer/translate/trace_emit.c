#include "tracer/translate/trace_emit.h"

#include "base/array.h"
#include "tracer/translate/batch.h"

/* ---- instructions ---- */

/* The ModRM, SIB and displacement of base + index * scale + displacement, for register field `reg`.
 */
static void emit_address(struct arena *arena, unsigned reg, const struct operand *operand)
{
	const uint8_t field = (uint8_t)((reg & 7) << 3);
	const int64_t disp = operand->displacement;
	const unsigned base = operand->base, index = operand->index;
	const uint8_t scale = (uint8_t)(__builtin_ctz(operand->scale) << 6);
	if (base == NO_BASE) {
		EMIT(arena, (uint8_t)(field | 4),
		     (uint8_t)(index == NO_BASE ? 0x25 : scale | (index & 7) << 3 | 5));
		emit_u32(arena, (uint32_t)disp);
		return;
	}
	const bool is_short = disp >= -128 && disp <= 127;
	const uint8_t mod = disp == 0 && (base & 7) != RBP ? 0 : is_short ? 0x40 : 0x80;
	if (index != NO_BASE)
		EMIT(arena, (uint8_t)(mod | field | 4),
		     (uint8_t)(scale | (index & 7) << 3 | (base & 7)));
	else if ((base & 7) == RSP)
		EMIT(arena, (uint8_t)(mod | field | 4), 0x24);
	else
		EMIT(arena, (uint8_t)(mod | field | (base & 7)));
	if (mod == 0x40)
		EMIT(arena, (uint8_t)disp);
	else if (mod == 0x80)
		emit_u32(arena, (uint32_t)disp);
}

static void emit_lea(struct arena *arena, enum reg reg, const struct operand *operand)
{
	const unsigned base = operand->base == NO_BASE ? 0 : operand->base;
	const unsigned index = operand->index == NO_BASE ? 0 : operand->index;
	EMIT(arena, (uint8_t)(0x48 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3), 0x8d);
	emit_address(arena, reg, operand);
}

/* reg = FS base + address; reg is no part of the address */
static void emit_fs_address(struct arena *arena, enum reg reg, const struct operand *operand)
{
	struct operand sum = *operand,
		       rest = {.base = (uint8_t)reg, .index = operand->base, .scale = 1};
	EMIT(arena, 0xf3, (uint8_t)(0x48 | reg >> 3), 0x0f, 0xae,
	     (uint8_t)(0xc0 | (reg & 7))); /* rdfsbase */
	sum.base = (uint8_t)reg;
	emit_lea(arena, reg, &sum);
	if (operand->base != NO_BASE)
		emit_lea(arena, reg, &rest);
}

/* The address into `reg`. */
static void emit_operand_address(struct arena *arena, enum reg reg, const struct operand *operand)
{
	if (operand->fs)
		emit_fs_address(arena, reg, operand);
	else if (operand->base == NO_BASE && operand->index == NO_BASE)
		emit_mov_imm64(arena, reg, (uint64_t)operand->displacement);
	else
		emit_lea(arena, reg, operand);
}

/* rorx $6, %reg, %reg */
static void emit_line(struct arena *arena, enum reg reg)
{
	const uint8_t high = (uint8_t)((reg >> 3 ^ 1) * 0xa0); /* VEX.R and VEX.B, inverted */
	EMIT(arena, 0xc4, (uint8_t)(0x43 | high), 0xfb, 0xf0, (uint8_t)(0xc0 | (reg & 7) * 9), 6);
}

/* A VEX instruction of map 0f38 with W = 1 on %gs:offset: opcode, prefix bits pp, ModRM.reg,
 * VEX.vvvv */
static void emit_gs_vex(struct arena *arena, uint8_t opcode, uint8_t pp, enum reg reg,
			enum reg vvvv, uint32_t offset)
{
	EMIT(arena, 0x65, 0xc4, (uint8_t)(0x62 | (reg >> 3 ^ 1) << 7),
	     (uint8_t)(0x80 | (~vvvv & 15) << 3 | pp), opcode, (uint8_t)((reg & 7) << 3 | 4), 0x25);
	emit_u32(arena, offset);
}

/* shrx %reg, %gs:mask, %reg: bit 0 is that of the line in reg */
static void emit_shift_mask(struct arena *arena, enum reg reg, unsigned lines)
{
	emit_gs_vex(arena, 0xf7, 3, reg, reg, G_TRACE_MASKS + 8 * (lines - 1));
}

/* test $1, %reg (8 bits) */
static void emit_test_bit(struct arena *arena, enum reg reg)
{
	EMIT(arena, (uint8_t)(0x40 | reg >> 3), 0xf6, (uint8_t)(0xc0 | (reg & 7)), 1);
}

/* movl $value, %gs:offset */
static void emit_gs_store_imm(struct arena *arena, uint32_t offset, uint32_t value)
{
	EMIT(arena, 0x65, 0xc7, 0x04, 0x25);
	emit_u32(arena, offset);
	emit_u32(arena, value);
}

/* mov %reg (32 bits), %gs:offset */
static void emit_gs_store_32(struct arena *arena, enum reg reg, uint32_t offset)
{
	EMIT(arena, 0x65, (uint8_t)(0x40 | (reg >> 3) << 2), 0x89, (uint8_t)(0x04 | (reg & 7) << 3),
	     0x25);
	emit_u32(arena, offset);
}

/* lea offset(%rip), %reg for a place in the arena; returns where its rel32 is */
static uint32_t emit_lea_rip(struct arena *arena, enum reg reg, uint32_t offset)
{
	EMIT(arena, (uint8_t)(0x48 | (reg >> 3) << 2), 0x8d, (uint8_t)((reg & 7) << 3 | 5));
	emit_u32(arena, 0);
	emit_rel32_at(arena, (uint32_t)arena->used - 4, offset);
	return (uint32_t)arena->used - 4;
}

/* The mask of an operand's lanes into `reg`; forms as in emit.c. */
static void emit_mask(struct arena *arena, enum reg reg, const struct operand *operand)
{
	const uint8_t high = reg < 8 ? 0x80 : 0,
		      field = (uint8_t)(0xc0 | (reg & 7) << 3 | (operand->mask & 7));
	if (operand->mask_bits == 8 && operand->lanes == 8) { /* an MMX register */
		EMIT(arena, (uint8_t)(0x40 | (reg >> 3) << 2), 0x0f, 0xd7, field);
	} else if (operand->mask_bits) {
		const bool is_256 = operand->lanes * operand->mask_bits > 128;
		const uint8_t opcode = operand->mask_bits == 8 ? 0xd7 : 0x50;
		EMIT(arena, 0xc4, (uint8_t)(0x41 | high | (operand->mask < 8) << 5),
		     (uint8_t)(0x78 | is_256 << 2 | (operand->mask_bits != 32)), opcode, field);
	} else if (operand->mask_shift || operand->lanes > 16) {
		EMIT(arena, 0xc4, (uint8_t)(0x61 | high), 0xfb, 0x93, field); /* kmovq */
	} else {
		EMIT(arena, 0xc5, (uint8_t)(0x78 | high), 0x93, field); /* kmovw */
	}
	if (operand->mask_shift) /* rorx $32, %reg, %reg */
		EMIT(arena, 0xc4, (uint8_t)(0x43 | (reg >> 3 ^ 1) * 0xa0), 0xfb, 0xf0,
		     (uint8_t)(0xc0 | (reg & 7) * 9), 32);
}

/* vmovdqu of vector register `vector` to %gs:G_TRACE_VECTOR: 32 bytes, or 64 for EVEX instructions
 */
static void emit_store_vector(struct arena *arena, unsigned vector, bool is_evex)
{
	const uint8_t modrm = (uint8_t)((vector & 7) << 3 | 4);
	if (is_evex)
		EMIT(arena, 0x65, 0x62, (uint8_t)(0x61 | !(vector & 8) << 7 | !(vector & 16) << 4),
		     0xfe, 0x48, 0x7f, modrm, 0x25);
	else
		EMIT(arena, 0x65, 0xc5, (uint8_t)(0x7e | !(vector & 8) << 7), 0x7f, modrm, 0x25);
	emit_u32(arena, G_TRACE_VECTOR);
}

/* ---- records ---- */

/* The rest of a record whose address is stored.  Returns where the way back is to be set. */
static uint32_t emit_call_gate(struct arena *arena, enum reg reg, uint32_t word)
{
	emit_gs_store_imm(arena, G_TRACE_WORD, word);
	const uint32_t back = emit_lea_rip(arena, reg, 0);
	emit_gs_store(arena, reg, G_TRACE_BACK);
	emit_gs_jump(arena, G_AT_RECORD);
	return back;
}

static void emit_record_here(struct arena *arena, enum reg reg, uint32_t word)
{
	const uint32_t back = emit_call_gate(arena, reg, word);
	emit_rel32_at(arena, back, arena->used);
}

/* The beginning and the end of what a string instruction went through. */
static void emit_string_records(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	const bool is_source = check->operand.base == RSI;
	emit_gs_load(arena, reg, is_source ? G_TRACE_RSI : G_TRACE_RDI);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	emit_gs_store_imm(arena, G_TRACE_EXTRA, 0);
	emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
	emit_gs_store(arena, is_source ? RSI : RDI, G_TRACE_ADDRESS);
	emit_gs_store_imm(arena, G_TRACE_EXTRA, 1);
	emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
}

/* The base address with the mask, then the index vector by 8 bytes. */
static void emit_gather_records(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	const struct operand *operand = &check->operand;
	const bool is_evex = !operand->mask_bits;
	const unsigned bytes = operand->lanes * operand->index_bits / 8;
	emit_operand_address(arena, reg, operand);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	emit_mask(arena, reg, operand);
	emit_gs_store_32(arena, reg, G_TRACE_EXTRA);
	emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
	emit_store_vector(arena, operand->vector, is_evex);
	for (unsigned at = 0; at < bytes; at += 8) {
		emit_gs_load(arena, reg, G_TRACE_VECTOR + at);
		emit_gs_store(arena, reg, G_TRACE_ADDRESS);
		emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
	}
}

static void emit_plain_record(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	emit_operand_address(arena, reg, &check->operand);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	if (check->operand.form != OPERAND_PLAIN) {
		emit_mask(arena, reg, &check->operand);
		emit_gs_store_32(arena, reg, G_TRACE_EXTRA);
	}
}

/* ---- checks ---- */

static void resume_piece(struct batch *batch, const struct trace_block *trace, uint16_t orig)
{
	batch_piece(batch, trace->kind, orig);
	batch->arena->pieces[batch->arena->n_pieces - 1].reg = (uint8_t)trace->loop_register;
}

/* In the middle of something. */
static void add_step_piece(struct batch *batch, uint16_t orig, bool in_loop, uint8_t loop_register)
{
	batch_piece(batch, PIECE_STEP, orig);
	struct piece *piece = &batch->arena->pieces[batch->arena->n_pieces - 1];
	piece->reg = loop_register;
	piece->in_loop = in_loop;
}

static void step_piece(struct batch *batch, const struct trace_block *trace, uint16_t orig)
{
	add_step_piece(batch, orig, trace->kind == PIECE_LOOP, (uint8_t)trace->loop_register);
}

/* A register for a check of a block that uses them all. */
static enum reg borrow(const struct trace_block *trace, const struct trace_check *check)
{
	unsigned used = check->registers | 1u << RSP;
	if (trace->kind == PIECE_LOOP)
		used |= 1u << trace->loop_register;
	return free_register(used, any_register, N_REGISTERS(any_register));
}

/* The branch to it has just been emitted. */
static void add_cold(struct batch *batch, const struct trace_block *trace,
		     const struct trace_check *check, uint16_t orig, enum reg reg, uint32_t saved)
{
	const struct cold_check cold = {.check = *check,
					.site = (uint32_t)batch->arena->used - 4,
					.back = (uint32_t)batch->arena->used,
					.block = batch->block,
					.orig = orig,
					.in_loop = trace->kind == PIECE_LOOP,
					.loop_register = (uint8_t)trace->loop_register,
					.reg = reg,
					.saved = saved};
	batch_check(batch, rf_array_push(batch->cold_checks, batch->n_cold_checks,
					 batch->cap_cold_checks, cold));
}

/* Status flags may change. */
static void emit_check(struct batch *batch, const struct trace_block *trace,
		       const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg == NO_REGISTER;
	const enum reg reg = borrows ? borrow(trace, check) : trace->reg;
	if (borrows) {
		step_piece(batch, trace, orig);
		emit_gs_store(arena, reg, G_SPILL_TRACE);
	}
	emit_operand_address(arena, reg, &check->operand);
	emit_line(arena, reg);
	emit_shift_mask(arena, reg, check->lines);
	emit_test_bit(arena, reg);
	EMIT(arena, 0x0f, 0x85); /* jnz */
	emit_u32(arena, 0);
	add_cold(batch, trace, check, orig, reg, 0);
	if (borrows) {
		emit_gs_load(arena, reg, G_SPILL_TRACE);
		resume_piece(batch, trace, orig);
	}
}

/* No flag changes: the bit is made a number in rcx. */
static void emit_check_keeping_flags(struct batch *batch, const struct trace_block *trace,
				     const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg != RCX;
	step_piece(batch, trace, orig);
	if (borrows)
		emit_gs_store(arena, RCX, G_SPILL_TRACE_RCX);
	emit_operand_address(arena, RCX, &check->operand);
	emit_line(arena, RCX);
	emit_shift_mask(arena, RCX, check->lines);
	emit_gs_vex(arena, 0xf5, 2, RCX, RCX, G_TRACE_ONE); /* pext %gs:one, %rcx, %rcx */
	EMIT(arena, 0xe3, 5, 0xe9);                         /* jrcxz over a jmp */
	emit_u32(arena, 0);
	add_cold(batch, trace, check, orig, RCX, borrows ? G_SPILL_TRACE_RCX : 0);
	if (borrows)
		emit_gs_load(arena, RCX, G_SPILL_TRACE_RCX);
	resume_piece(batch, trace, orig);
}

/* The gate decides. */
static void emit_always(struct batch *batch, const struct trace_block *trace,
			const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg == NO_REGISTER;
	const enum reg reg = borrows ? borrow(trace, check) : trace->reg;
	step_piece(batch, trace, orig);
	if (borrows)
		emit_gs_store(arena, reg, G_SPILL_TRACE);
	if (check->operand.form == OPERAND_STRING) {
		emit_string_records(arena, reg, check);
	} else if (check->operand.form == OPERAND_GATHER) {
		emit_gather_records(arena, reg, check);
	} else {
		emit_plain_record(arena, reg, check);
		emit_record_here(arena, reg, check->word);
	}
	if (borrows)
		emit_gs_load(arena, reg, G_SPILL_TRACE);
	resume_piece(batch, trace, orig);
}

void trace_before(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig)
{
	for (size_t k = 0; k < trace->plan.n_checks; k++) {
		const struct trace_check *check = &trace->plan.checks[k];
		const bool rcx_in_fs = check->operand.fs && check->registers >> RCX & 1;
		if (check->before != i)
			continue;
		if (check->behind) /* what it will need */
			emit_gs_store(batch->arena, check->operand.base,
				      check->operand.base == RSI ? G_TRACE_RSI : G_TRACE_RDI);
		else if (check->always || (!check->flags_dead && rcx_in_fs))
			emit_always(batch, trace, check, orig);
		else if (check->flags_dead)
			emit_check(batch, trace, check, orig);
		else
			emit_check_keeping_flags(batch, trace, check, orig);
	}
}

void trace_behind(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig)
{
	for (size_t k = 0; k < trace->plan.n_checks; k++)
		if (trace->plan.checks[k].before == i && trace->plan.checks[k].behind)
			emit_always(batch, trace, &trace->plan.checks[k], orig);
}

static void emit_cold_check(struct batch *batch, const struct cold_check *cold)
{
	struct arena *arena = batch->arena;
	emit_rel32_at(arena, cold->site, arena->used);
	if (cold->saved)
		emit_gs_load(arena, cold->reg, cold->saved);
	emit_plain_record(arena, cold->reg, &cold->check);
	emit_rel32_at(arena, emit_call_gate(arena, cold->reg, cold->check.word), cold->back);
}

void emit_cold_checks(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_cold_checks && !batch->failed; i++) {
		const struct cold_check *cold = &batch->cold_checks[i];
		batch->block = cold->block;
		add_step_piece(batch, cold->orig, cold->in_loop, cold->loop_register);
		emit_cold_check(batch, cold);
	}
}

/* ---- blocks ---- */

void trace_begin(struct batch *batch, struct trace_block *trace, const struct planned *items,
		 size_t n, enum piece_kind kind, enum reg loop_register)
{
	struct translator *translator = batch->translator;
	*trace = (struct trace_block){.reg = NO_REGISTER,
				      .kind = kind,
				      .loop_register = kind == PIECE_LOOP ? loop_register : RAX};
	if (!translator->trace)
		return;
	batch_check(batch, trace_plan_build(&trace->plan, translator->trace, &translator->source,
					    items, n));
	batch->cache->blocks[batch->block].n_untraced = trace->plan.n_untraced;
	if (!trace->plan.n_checks)
		return;
	unsigned used = trace->plan.used;
	if (kind == PIECE_LOOP)
		used |= 1u << loop_register;
	trace->reg = free_register(used, any_register, N_REGISTERS(any_register));
}

void trace_end(struct trace_block *trace)
{
	trace_plan_deinit(&trace->plan);
}

void trace_save(struct batch *batch, const struct trace_block *trace)
{
	if (trace->reg == NO_REGISTER)
		return;
	emit_gs_store(batch->arena, trace->reg, G_SPILL_TRACE);
	batch->spilled = (uint8_t)(trace->reg + 1);
}

void trace_restore(struct batch *batch, const struct trace_block *trace)
{
	if (trace->reg == NO_REGISTER)
		return;
	emit_gs_load(batch->arena, trace->reg, G_SPILL_TRACE);
	batch->spilled = 0;
}
