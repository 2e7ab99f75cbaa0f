/* Emits checks of addresses before the program's accesses, and the records that go to the gate. */
#include "tracer/translate/trace_emit.h"

#include "base/assert.h"

#define LINE_BITS 6 /* of an address: where in its line */

_Static_assert((uint8_t)NO_REGISTER == NO_BASE, "operands name registers by the same numbers");
_Static_assert(MAX_TESTED_LANES < MAX_LABEL_USES, "each lane leads to the record");
_Static_assert(1 << LINE_BITS == CACHE_LINE, "checks go by lines");

/* ---- addresses ---- */

static struct address address_of(const struct operand *operand)
{
	return mem_indexed(operand->base, operand->index, operand->scale,
			   (int32_t)operand->displacement);
}

/* reg = FS base + address; reg is no part of the address */
static void emit_fs_address(struct arena *arena, enum reg reg, const struct operand *operand)
{
	assert(reg != operand->base && reg != operand->index);
	emit_read_fs_base(arena, reg);
	emit_lea(arena, reg,
		 mem_indexed(reg, operand->index, operand->scale, (int32_t)operand->displacement));
	if (operand->base == RSP) /* which can be no index */
		emit_lea(arena, reg, mem_indexed(RSP, reg, 1, 0));
	else if (operand->base != NO_BASE)
		emit_lea(arena, reg, mem_indexed(reg, operand->base, 1, 0));
}

static void emit_constant(struct arena *arena, enum reg reg, const struct operand *operand)
{
	emit_mov_imm64(arena, reg, (uint64_t)operand->displacement);
	if (operand->rip_relative)
		arena_note_field(arena, FIELD_IN_MODULE, -8, 0);
}

/* The address into `reg`. */
static void emit_operand_address(struct arena *arena, enum reg reg, const struct operand *operand)
{
	if (operand->fs)
		emit_fs_address(arena, reg, operand);
	else if (operand->base == NO_BASE && operand->index == NO_BASE)
		emit_constant(arena, reg, operand);
	else
		emit_lea(arena, reg, address_of(operand));
}

/* Where the mask for so many lines is. */
static uint32_t mask_for(unsigned lines)
{
	assert(lines >= 1 && lines <= TRACE_MASKS);
	return G_TRACE_MASKS + 8 * (lines - 1);
}

/* Of the address in `reg`: bit 0 becomes that of its line in the mask for so many lines. */
static void emit_line_bit(struct arena *arena, enum reg reg, unsigned lines)
{
	emit_rorx(arena, reg, LINE_BITS);
	emit_shrx(arena, reg, gs_at(mask_for(lines)));
}

/* The class of a line whose address is known. */
static unsigned class_of(const struct operand *operand)
{
	return (uint64_t)operand->displacement / CACHE_LINE % CACHE_CLASSES;
}

/* The mask of an operand's lanes into `reg`. */
static void emit_mask(struct arena *arena, enum reg reg, const struct operand *operand)
{
	if (operand->mask_bits)
		emit_read_signs(arena, reg, operand->mask, operand->mask_bits, operand->lanes);
	else if (operand->mask_shift || operand->lanes > 16)
		emit_read_mask(arena, reg, operand->mask & 7, 64);
	else
		emit_read_mask(arena, reg, operand->mask & 7, 16);
	if (operand->mask_shift)
		emit_rorx(arena, reg, operand->mask_shift);
}

/* ---- records ---- */

/* The rest of a record whose address is stored; the gate goes on at `back`. */
static void emit_call_gate(struct arena *arena, enum reg reg, uint32_t word, struct label *back)
{
	emit_store_imm32(arena, word, gs_at(G_TRACE_WORD));
	emit_lea_label(arena, reg, back);
	emit_gs_store(arena, reg, G_TRACE_BACK);
	emit_jump_through(arena, gs_at(G_AT_RECORD));
}

static void emit_record_here(struct arena *arena, enum reg reg, uint32_t word)
{
	struct label back = {0};
	emit_call_gate(arena, reg, word, &back);
	label_bind(arena, &back);
}

/* The word of the records of an access behind the first one, which has told that no line is known.
 */
static uint32_t following(const struct trace_check *check)
{
	return (check->word & ~(uint32_t)TRACE_CHANGES) | TRACE_ALWAYS;
}

/* The beginning and the end of what a string instruction went through. */
static void emit_string_records(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	const bool is_source = check->operand.base == RSI;
	emit_gs_load(arena, reg, is_source ? G_TRACE_RSI : G_TRACE_RDI);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	emit_store_imm32(arena, 0, gs_at(G_TRACE_EXTRA));
	emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
	emit_gs_store(arena, is_source ? RSI : RDI, G_TRACE_ADDRESS);
	emit_store_imm32(arena, 1, gs_at(G_TRACE_EXTRA));
	emit_record_here(arena, reg, following(check));
}

static void emit_store_vector(struct arena *arena, const struct operand *operand)
{
	const bool is_evex = !operand->mask_bits;
	if (is_evex)
		emit_store_zmm(arena, operand->vector, gs_at(G_TRACE_VECTOR));
	else
		emit_store_ymm(arena, operand->vector, gs_at(G_TRACE_VECTOR));
}

/* The base address with the mask, then the index vector by 8 bytes. */
static void emit_gather_records(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	const struct operand *operand = &check->operand;
	const unsigned bytes = operand->lanes * operand->index_bits / 8;
	emit_operand_address(arena, reg, operand);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	emit_mask(arena, reg, operand);
	emit_store_32(arena, reg, gs_at(G_TRACE_EXTRA));
	emit_record_here(arena, reg, check->word | TRACE_ALWAYS);
	emit_store_vector(arena, operand);
	for (unsigned at = 0; at < bytes; at += 8) {
		emit_gs_load(arena, reg, G_TRACE_VECTOR + at);
		emit_gs_store(arena, reg, G_TRACE_ADDRESS);
		emit_record_here(arena, reg, following(check));
	}
}

static void emit_plain_record(struct arena *arena, enum reg reg, const struct trace_check *check)
{
	emit_operand_address(arena, reg, &check->operand);
	emit_gs_store(arena, reg, G_TRACE_ADDRESS);
	if (check->operand.form != OPERAND_PLAIN) {
		emit_mask(arena, reg, &check->operand);
		emit_store_32(arena, reg, gs_at(G_TRACE_EXTRA));
	} else if (check->word & TRACE_STORES) {
		emit_store_imm32(arena, check->stored, gs_at(G_TRACE_EXTRA));
	}
}

/* ---- checks ---- */

void trace_resume_piece(struct batch *batch, const struct trace_block *trace, uint16_t orig)
{
	batch_piece_of(batch, (struct piece){.kind = (uint8_t)trace->kind,
					     .orig = orig,
					     .reg = (uint8_t)trace->loop_register});
}

/* In the middle of something. */
static struct piece step_of(const struct trace_block *trace, uint16_t orig)
{
	return (struct piece){.kind = PIECE_STEP,
			      .orig = orig,
			      .reg = (uint8_t)trace->loop_register,
			      .in_loop = trace->kind == PIECE_LOOP};
}

/* A register for a check of a block that uses them all. */
static enum reg borrow(const struct trace_block *trace, const struct trace_check *check)
{
	unsigned used = check->registers | 1u << RSP;
	if (trace->kind == PIECE_LOOP)
		used |= 1u << trace->loop_register;
	return free_register(used, any_register, N_REGISTERS(any_register));
}

/* `record`: what the branch that has just been emitted leads to. */
static void add_cold(struct batch *batch, const struct trace_block *trace,
		     const struct trace_check *check, uint16_t orig, enum reg reg, uint32_t saved,
		     const struct label *record)
{
	const struct cold_check cold = {.check = *check,
					.record = *record,
					.back = label_at((uint32_t)batch->arena->used),
					.block = batch->block,
					.piece = step_of(trace, orig),
					.reg = reg,
					.saved = saved};
	batch_push(batch, batch->cold_checks, batch->n_cold_checks, batch->cap_cold_checks, cold);
}

/* Leads to `record` where the address in `reg` is in a simulated line. */
static void emit_test_line(struct arena *arena, enum reg reg, unsigned lines, struct label *record)
{
	emit_line_bit(arena, reg, lines);
	emit_test_bits(arena, reg, 1);
	emit_branch(arena, CONDITION_NOT_EQUAL, record);
}

/* The same where the address is known: its bit in the mask. */
static void emit_test_constant(struct arena *arena, const struct trace_check *check,
			       struct label *record)
{
	const unsigned class = class_of(&check->operand);
	emit_test_32(arena, 1u << class % 32, gs_at(mask_for(check->lines) + class / 32 * 4));
	emit_branch(arena, CONDITION_NOT_EQUAL, record);
}

/* The same for each lane of a gather or scatter, whether or not its mask is set: it is recorded as
 * a whole where one lane's line is simulated. */
static void emit_test_lanes(struct arena *arena, enum reg reg, const struct operand *operand,
			    struct label *record)
{
	/* no lane lies in two lines where base and steps are multiples of its size */
	const bool in_step = operand->scale % operand->bytes == 0;
	emit_store_vector(arena, operand);
	if (in_step) {
		emit_operand_address(arena, reg, operand);
		emit_test_bits(arena, reg, (uint8_t)(operand->bytes - 1));
		emit_branch(arena, CONDITION_NOT_EQUAL, record);
	}
	for (unsigned lane = 0; lane < operand->lanes; lane++) {
		const struct address index = gs_at(G_TRACE_VECTOR + lane * operand->index_bits / 8);
		if (operand->index_bits == 32)
			emit_load_signed_32(arena, reg, index);
		else
			emit_load(arena, reg, index);
		emit_lea(arena, reg,
			 mem_indexed(operand->base, reg, operand->scale,
				     (int32_t)operand->displacement));
		emit_test_line(arena, reg, in_step ? 1 : 2, record);
	}
}

/* Status flags may change. */
static void emit_check(struct batch *batch, const struct trace_block *trace,
		       const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg == NO_REGISTER;
	const enum reg reg = borrows ? borrow(trace, check) : trace->reg;
	struct label record = {0};
	if (borrows) {
		batch_piece_of(batch, step_of(trace, orig));
		borrow_register(batch, reg, G_SPILL_TRACE);
	}
	if (check->operand.form == OPERAND_GATHER) {
		emit_test_lanes(arena, reg, &check->operand, &record);
	} else if (check->is_constant) {
		emit_test_constant(arena, check, &record);
	} else {
		emit_operand_address(arena, reg, &check->operand);
		emit_test_line(arena, reg, check->lines, &record);
	}
	add_cold(batch, trace, check, orig, reg, 0, &record);
	if (borrows) {
		give_register_back(batch, reg, G_SPILL_TRACE);
		trace_resume_piece(batch, trace, orig);
	}
}

/* No flag changes: the bit is made a number in rcx. */
static void emit_check_keeping_flags(struct batch *batch, const struct trace_block *trace,
				     const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg != RCX;
	struct label record = {0}, behind = {0};
	batch_piece_of(batch, step_of(trace, orig));
	if (borrows)
		borrow_register(batch, RCX, G_SPILL_TRACE_RCX);
	if (check->is_constant) {
		emit_gs_load(arena, RCX, mask_for(check->lines));
		emit_rorx(arena, RCX, (uint8_t)class_of(&check->operand));
	} else {
		emit_operand_address(arena, RCX, &check->operand);
		emit_line_bit(arena, RCX, check->lines);
	}
	emit_pext(arena, RCX, gs_at(G_TRACE_ONE));
	emit_jrcxz(arena, &behind);
	emit_jump(arena, &record);
	label_bind(arena, &behind);
	add_cold(batch, trace, check, orig, RCX, borrows ? G_SPILL_TRACE_RCX : 0, &record);
	if (borrows)
		give_register_back(batch, RCX, G_SPILL_TRACE_RCX);
	trace_resume_piece(batch, trace, orig);
}

/* The gate decides. */
static void emit_always(struct batch *batch, const struct trace_block *trace,
			const struct trace_check *check, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg == NO_REGISTER;
	const enum reg reg = borrows ? borrow(trace, check) : trace->reg;
	batch_piece_of(batch, step_of(trace, orig));
	if (borrows)
		borrow_register(batch, reg, G_SPILL_TRACE);
	if (check->operand.form == OPERAND_STRING) {
		emit_string_records(arena, reg, check);
	} else if (check->operand.form == OPERAND_GATHER) {
		emit_gather_records(arena, reg, check);
	} else {
		emit_plain_record(arena, reg, check);
		emit_record_here(arena, reg, check->word);
	}
	if (borrows)
		give_register_back(batch, reg, G_SPILL_TRACE);
	trace_resume_piece(batch, trace, orig);
}

/* ---- blocks that have run ---- */

static void add_cold_transfer(struct batch *batch, const struct trace_block *trace, uint16_t orig,
			      enum reg reg, const struct label *record)
{
	add_cold(batch, trace, &trace->plan.transfer, orig, reg, 0, record);
	if (!batch->failed)
		batch->cold_checks[batch->n_cold_checks - 1].is_transfer = true;
}

/* Most of the time nobody wants to know. */
static void emit_transfer_check(struct batch *batch, const struct trace_block *trace, uint16_t orig)
{
	struct arena *arena = batch->arena;
	const bool borrows = trace->reg != RCX;
	struct label record = {0}, behind = {0};
	if (trace->plan.transfer.flags_dead) {
		emit_compare_32(arena, 0, gs_at(G_BLOCKS_LEFT));
		emit_branch(arena, CONDITION_NOT_EQUAL, &record);
		add_cold_transfer(batch, trace, orig, NO_REGISTER, &record);
		return;
	}
	batch_piece_of(batch, step_of(trace, orig));
	if (borrows)
		borrow_register(batch, RCX, G_SPILL_TRACE_RCX);
	emit_gs_load(arena, RCX, G_BLOCKS_LEFT);
	emit_jrcxz(arena, &behind);
	emit_jump(arena, &record);
	label_bind(arena, &behind);
	add_cold_transfer(batch, trace, orig, RCX, &record);
	if (borrows)
		give_register_back(batch, RCX, G_SPILL_TRACE_RCX);
	trace_resume_piece(batch, trace, orig);
}

/* Out of line.  No flag changes; the index is kept below MOST_BLOCKS whatever was there. */
static void emit_note_block(struct arena *arena, const struct cold_check *cold)
{
	const bool borrows = cold->reg == NO_REGISTER;
	const enum reg reg = borrows ? RAX : cold->reg;
	const struct address cell = {NO_REGISTER, reg, 4, true, SLOT_BLOCKS};
	struct label back = cold->back;
	if (borrows)
		emit_gs_store(arena, reg, G_SPILL_BLOCK);
	emit_gs_load(arena, reg, G_BLOCKS_LEFT);
	emit_lea(arena, reg, mem_at(reg, -1));
	emit_mov_16(arena, reg, reg);
	emit_store_imm32(arena, cold->check.word, cell);
	emit_gs_store(arena, reg, G_BLOCKS_LEFT);
	if (borrows)
		emit_gs_load(arena, reg, G_SPILL_BLOCK);
	emit_jump(arena, &back);
}

void trace_before(struct batch *batch, const struct trace_block *trace, size_t i, uint16_t orig)
{
	if (trace->plan.has_transfer && trace->plan.transfer.before == i)
		emit_transfer_check(batch, trace, orig);
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

/* The check in line has found that the first line or the one behind it is simulated.  Most accesses
 * that may lie in two lines lie in one.  So where that is the other one the gate, which is dearer,
 * is not asked: code that goes to the stack all the time meets a class and the one before it alike.
 * The operand's register has the program's value; leads on to what follows, or back. */
static void emit_test_ends(struct arena *arena, const struct cold_check *cold)
{
	const struct trace_check *check = &cold->check;
	const int64_t at[2] = {check->operand.displacement,
			       check->operand.displacement + check->last};
	struct label record = {0}, back = cold->back;
	for (int i = 0; i < 2; i++) {
		struct operand end = check->operand;
		struct label behind = {0};
		end.displacement = at[i];
		if (i && cold->saved)
			emit_gs_load(arena, cold->reg, cold->saved);
		emit_operand_address(arena, cold->reg, &end);
		if (check->flags_dead) {
			emit_test_line(arena, cold->reg, 1, &record);
			continue;
		}
		emit_line_bit(arena, RCX, 1);
		emit_pext(arena, RCX, gs_at(G_TRACE_ONE));
		emit_jrcxz(arena, &behind);
		emit_jump(arena, &record);
		label_bind(arena, &behind);
	}
	emit_jump(arena, &back);
	label_bind(arena, &record);
	if (cold->saved)
		emit_gs_load(arena, cold->reg, cold->saved);
}

/* Whether that is worth while, and the last byte's address one that can be formed. */
static bool has_two_ends(const struct trace_check *check)
{
	const int64_t last = check->operand.displacement + check->last;
	return check->lines == 2 && check->operand.form == OPERAND_PLAIN && !check->is_constant &&
	       last == (int32_t)last;
}

void emit_cold_checks(struct batch *batch)
{
	struct arena *arena = batch->arena;
	for (size_t i = 0; i < batch->n_cold_checks && !batch->failed; i++) {
		struct cold_check *cold = &batch->cold_checks[i];
		batch->block = cold->block;
		batch_piece_of(batch, cold->piece);
		label_bind(arena, &cold->record);
		if (cold->is_transfer) {
			emit_note_block(arena, cold);
			continue;
		}
		if (cold->saved)
			emit_gs_load(arena, cold->reg, cold->saved);
		if (has_two_ends(&cold->check))
			emit_test_ends(arena, cold);
		if (cold->check.operand.form == OPERAND_GATHER) {
			emit_gather_records(arena, cold->reg, &cold->check);
			emit_jump(arena, &cold->back);
		} else {
			emit_plain_record(arena, cold->reg, &cold->check);
			emit_call_gate(arena, cold->reg, cold->check.word, &cold->back);
		}
	}
}

/* ---- blocks ---- */

void trace_begin(struct batch *batch, struct trace_block *trace, enum piece_kind kind,
		 enum reg loop_register)
{
	struct translator *translator = batch->translator;
	*trace = (struct trace_block){.reg = NO_REGISTER,
				      .kind = kind,
				      .loop_register = kind == PIECE_LOOP ? loop_register : RAX};
	if (!translator->trace)
		return;
	batch_check(batch, trace_plan_build(&trace->plan, translator->trace, &translator->source,
					    batch->block, batch->items, batch->n_items));
	batch->cache->blocks[batch->block].n_untraced = trace->plan.n_untraced;
	if (!trace->plan.n_checks)
		return;
	unsigned used = trace->plan.used;
	if (kind == PIECE_LOOP)
		used |= 1u << loop_register;
	trace->reg = free_register(used, any_register, N_REGISTERS(any_register));
	for (size_t i = 0; trace->reg != NO_REGISTER && i < batch->n_items; i++)
		rf_assert_dear(!(decode_used_registers(&batch->items[i].insn) >> trace->reg & 1));
}

void trace_save(struct batch *batch, const struct trace_block *trace)
{
	if (trace->reg == NO_REGISTER)
		return;
	borrow_register(batch, trace->reg, G_SPILL_TRACE);
	batch->spilled = (uint8_t)(trace->reg + 1);
}

void trace_restore(struct batch *batch, const struct trace_block *trace)
{
	if (trace->reg == NO_REGISTER)
		return;
	give_register_back(batch, trace->reg, G_SPILL_TRACE);
	batch->spilled = 0;
}
