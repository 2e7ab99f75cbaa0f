/* Finds the memory operands of an instruction, and what it does to registers that form addresses.
 */
#include "insn/operands.h"

#include "insn/decoder.h"
#include "insn/traits.h"
#include "insn/work.h"

#include <string.h>

#define RAX 0
#define RSP 4
#define RBP 5
#define MOST_BYTES 64 /* of a plain operand; what is larger is stated by few instructions */

struct full {
	const ZydisDecodedInstruction *insn;
	const ZydisDecodedOperand *operands;
	unsigned traits;
	struct work work;
};

_Static_assert(NO_BASE == NO_GENERAL, "operands name registers by the decoder's numbers");

/* ---- memory ---- */

static bool is_push(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_PUSH ||
	       insn->meta.category == ZYDIS_CATEGORY_CALL || insn->mnemonic == ZYDIS_MNEMONIC_ENTER;
}

static bool is_hidden(const ZydisDecodedOperand *operand)
{
	return operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
}

/* Base, index and displacement; false when they are no ordinary ones. */
static bool set_address(const struct full *full, const struct decoded *insn,
			const ZydisDecodedOperand *operand, struct operand *out)
{
	out->base = out->index = NO_BASE;
	out->displacement = operand->mem.disp.value;
	out->fs = operand->mem.segment == ZYDIS_REGISTER_FS;
	out->rip_relative = operand->mem.base == ZYDIS_REGISTER_RIP;
	if (full->insn->address_width != 64 || operand->mem.segment == ZYDIS_REGISTER_GS ||
	    (out->fs && out->rip_relative))
		return false;
	if (out->rip_relative)
		out->displacement = (int64_t)insn->target;
	else if (operand->mem.base != ZYDIS_REGISTER_NONE)
		out->base = general_register(operand->mem.base);
	if (operand->mem.index != ZYDIS_REGISTER_NONE && operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		out->index = general_register(operand->mem.index);
	out->scale = operand->mem.scale ? operand->mem.scale : 1;
	/* the stack pointer moves before a push writes, and before a pop's address is formed */
	if (is_hidden(operand) && is_push(full->insn) && out->base == RSP)
		out->displacement -= operand->size / 8;
	if (!is_hidden(operand) && full->insn->mnemonic == ZYDIS_MNEMONIC_POP && out->base == RSP)
		out->displacement += operand->size / 8;
	return true;
}

/* 0: the instruction is no access to a line as such. */
static uint8_t line_access_of(const ZydisDecodedInstruction *insn)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
		return OPERAND_FLUSH;
	case ZYDIS_MNEMONIC_CLWB:
		return OPERAND_CLEAN;
	case ZYDIS_MNEMONIC_CLZERO:
		return OPERAND_LINE_ZERO;
	default:
		return 0;
	}
}

static uint8_t access_of(const struct full *full, const ZydisDecodedOperand *operand)
{
	uint8_t access = line_access_of(full->insn);
	if (access)
		return access;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ && full->work.is_load)
		access |= OPERAND_LOAD;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE && full->work.is_store)
		access |= full->work.non_temporal ? OPERAND_NON_TEMPORAL : OPERAND_STORE;
	return access;
}

static void set_mask(const struct full *full, const ZydisDecodedOperand *operand,
		     struct operand *out)
{
	const struct work *work = &full->work;
	const uint32_t loads = work->unit_load_bytes, stores = work->unit_store_bytes;
	out->bytes = (uint16_t)(loads ? loads : stores);
	out->lanes = work->lanes;
	out->mask = work->unit_reg;
	out->mask_bits = work->units == UNITS_VMASK ? work->unit_element_bits : 0;
	out->form = full->traits & TRAIT_PACKED ||
				    full->insn->meta.category == ZYDIS_CATEGORY_COMPRESS ||
				    full->insn->meta.category == ZYDIS_CATEGORY_EXPAND
			    ? OPERAND_PACKED
			    : OPERAND_MASKED;
	if (operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		return;
	out->form = OPERAND_GATHER;
	out->vector = (uint8_t)ZydisRegisterGetId(operand->mem.index);
	out->index_bits = full->traits & TRAIT_INDEX_32 ? 32 : 64;
}

/* Memory that a mask governs only on one side (a load that is read whole, say) has fixed bytes. */
static bool is_per_unit(const struct work *work)
{
	return work->units != UNITS_NONE && (work->unit_load_bytes || work->unit_store_bytes);
}

static void set_size(const struct full *full, const ZydisDecodedOperand *operand,
		     struct operand *out)
{
	const struct work *work = &full->work;
	const bool is_bits =
		full->traits & TRAIT_BITS && full->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
	out->form = OPERAND_PLAIN;
	out->bytes = (uint16_t)(operand->size / 8);
	if (out->access & (OPERAND_FLUSH | OPERAND_CLEAN | OPERAND_LINE_ZERO)) {
		out->bytes = 1;
	} else if (is_per_unit(work) && work->units == UNITS_REP) {
		out->form = OPERAND_STRING;
	} else if (is_per_unit(work) &&
		   (work->units == UNITS_KMASK || work->units == UNITS_VMASK)) {
		if (decode_mask_is_here(work))
			set_mask(full, operand, out);
		else
			out->form = OPERAND_UNTRACED;
	} else if (is_per_unit(work) || is_bits || !out->bytes || out->bytes > MOST_BYTES ||
		   full->insn->mnemonic == ZYDIS_MNEMONIC_ENTER) {
		out->form = OPERAND_UNTRACED;
	}
	out->aligned = full->traits & TRAIT_ALIGNED && out->form == OPERAND_PLAIN;
}

static void add_operand(const struct full *full, const struct decoded *insn,
			const ZydisDecodedOperand *operand, struct operands *out)
{
	struct operand new = {.access = access_of(full, operand)};
	if (!new.access || operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || out->n == MAX_OPERANDS)
		return;
	const bool known = set_address(full, insn, operand, &new);
	set_size(full, operand, &new);
	if (!known || operand->mem.type == ZYDIS_MEMOP_TYPE_MIB)
		new.form = OPERAND_UNTRACED;
	if (new.form == OPERAND_STRING &&new.fs)
		new.form = OPERAND_UNTRACED;
	out->items[out->n++] = new;
}

static void add_line_zero(struct operands *out)
{
	out->items[out->n++] = (struct operand){.form = OPERAND_PLAIN,
						.access = OPERAND_LINE_ZERO,
						.base = RAX,
						.index = NO_BASE,
						.scale = 1,
						.bytes = 1};
}

/* Loads before stores. */
static void set_memory(const struct full *full, const struct decoded *insn, struct operands *out)
{
	if (full->insn->mnemonic == ZYDIS_MNEMONIC_CLZERO) {
		add_line_zero(out);
		return;
	}
	if (!full->work.is_load && !full->work.is_store && !line_access_of(full->insn))
		return;
	for (int stores = 0; stores < 2; stores++)
		for (int i = 0; i < full->insn->operand_count; i++) {
			const ZydisDecodedOperand *operand = &full->operands[i];
			if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
			    stores == !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ))
				add_operand(full, insn, operand, out);
		}
}

/* ---- registers ---- */

static void set_move(struct operands *out, ZydisRegister to, ZydisRegister from, int64_t by)
{
	if (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, to) != 64 ||
	    general_register(to) == NO_BASE || general_register(from) == NO_BASE ||
	    by > INT32_MAX || by < INT32_MIN)
		return;
	out->moved = general_register(to);
	out->from = general_register(from);
	out->by = by;
	out->written &= (uint16_t) ~(1u << out->moved);
}

static int64_t immediate(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? operand->imm.value.s : INT64_MAX;
}

/* Instructions that add a constant to a register or copy one. */
static void set_moved(const struct full *full, struct operands *out)
{
	const ZydisDecodedOperand *operands = full->operands;
	if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	const ZydisRegister to = operands[0].reg.value;
	switch (full->insn->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
		set_move(out, to, to, immediate(&operands[1]));
		break;
	case ZYDIS_MNEMONIC_SUB:
		if (immediate(&operands[1]) != INT64_MAX)
			set_move(out, to, to, -immediate(&operands[1]));
		break;
	case ZYDIS_MNEMONIC_INC:
		set_move(out, to, to, 1);
		break;
	case ZYDIS_MNEMONIC_DEC:
		set_move(out, to, to, -1);
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			set_move(out, to, operands[1].reg.value, 0);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (operands[1].mem.index == ZYDIS_REGISTER_NONE &&
		    full->insn->address_width == 64 &&
		    operands[1].mem.base != ZYDIS_REGISTER_NONE &&
		    operands[1].mem.base != ZYDIS_REGISTER_RIP)
			set_move(out, to, operands[1].mem.base, operands[1].mem.disp.value);
		break;
	default:
		break;
	}
}

static void set_stack_pointer(const struct full *full, struct operands *out)
{
	const ZydisInstructionCategory category = full->insn->meta.category;
	if (category != ZYDIS_CATEGORY_PUSH && category != ZYDIS_CATEGORY_POP)
		return;
	for (int i = 0; i < full->insn->operand_count_visible; i++)
		if (full->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    full->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    general_register(full->operands[i].reg.value) == RSP)
			return; /* pop %rsp */
	for (int i = 0; i < full->insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &full->operands[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && is_hidden(operand) &&
		    operand->mem.base == ZYDIS_REGISTER_RSP)
			set_move(out, ZYDIS_REGISTER_RSP, ZYDIS_REGISTER_RSP,
				 category == ZYDIS_CATEGORY_PUSH ? -(operand->size / 8)
								 : operand->size / 8);
	}
}

static void set_written(const struct full *full, struct operands *out)
{
	for (int i = 0; i < full->insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &full->operands[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    general_register(operand->reg.value) != NO_BASE)
			out->written |= (uint16_t)(1u << general_register(operand->reg.value));
	}
	set_moved(full, out);
	set_stack_pointer(full, out);
}

void operands_of(const struct decoded *insn, struct operands *out)
{
	struct full_insn decoded;
	*out = (struct operands){.moved = NO_BASE};
	if (!decode_full(insn->bytes, insn->length, &decoded)) {
		out->written = 0xffff;
		return;
	}
	struct full full = {.insn = &decoded.insn,
			    .operands = decoded.operands,
			    .traits = traits_of(decoded.insn.mnemonic)};
	work_of_decoded(full.insn, full.operands, &full.work);
	set_memory(&full, insn, out);
	set_written(&full, out);
}
