/* Tells loops in profiled code from its bytes: where each instruction leads to. */
#include "insn/branch.h"

#include "insn/decoder.h"
#include "insn/flow.h"

static enum branch_kind kind_of(const ZydisDecodedInstruction *insn)
{
	switch (flow_of(insn)) {
	case FLOW_BRANCH:
	case FLOW_LOOP:
	case FLOW_XBEGIN:
		return BRANCH_CONDITIONAL;
	case FLOW_JUMP:
		return BRANCH_JUMP;
	case FLOW_JUMP_INDIRECT:
		return BRANCH_INDIRECT;
	case FLOW_RETURN:
		return BRANCH_LEAVE;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_UD2 || insn->mnemonic == ZYDIS_MNEMONIC_HLT
			       ? BRANCH_LEAVE
			       : BRANCH_NONE;
	}
}

struct branch branch_of_bytes(const uint8_t *bytes, size_t size, uint64_t offset)
{
	ZydisDecodedInstruction insn;
	struct branch branch = {BRANCH_LEAVE, 0};
	if (!decode_head(bytes, size, &insn))
		return branch;
	branch.kind = kind_of(&insn);
	if (branch.kind == BRANCH_CONDITIONAL || branch.kind == BRANCH_JUMP)
		branch.target = offset + insn.length + (uint64_t)insn.raw.imm[0].value.s;
	return branch;
}
