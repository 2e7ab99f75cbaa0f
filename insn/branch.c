#include "insn/branch.h"

#include <Zydis/Zydis.h>

static enum branch_kind kind_of(const ZydisDecodedInstruction *insn,
				const ZydisDecodedOperand *first)
{
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return BRANCH_CONDITIONAL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return first->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? BRANCH_JUMP : BRANCH_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return BRANCH_LEAVE;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_UD2 || insn->mnemonic == ZYDIS_MNEMONIC_HLT
			       ? BRANCH_LEAVE
			       : BRANCH_NONE;
	}
}

struct branch branch_of_bytes(const uint8_t *bytes, size_t size, uint64_t offset)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	struct branch branch = {BRANCH_LEAVE, 0};
	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &insn, operands)))
		return branch;
	branch.kind = kind_of(&insn, &operands[0]);
	if (branch.kind == BRANCH_CONDITIONAL || branch.kind == BRANCH_JUMP)
		branch.target = offset + insn.length + (uint64_t)operands[0].imm.value.s;
	return branch;
}
