/* Classifies instructions by where control goes behind them, for the translator, and to tell loops
 * in profiled code. */
#include "insn/flow.h"

#include "insn/decode_common.h"
#include "insn/decoder.h"

/* loop, loope, loopne, jrcxz and jecxz. */
static bool is_loop(const ZydisDecodedInstruction *insn)
{
	return insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode >= 0xe0 &&
	       insn->opcode <= 0xe3;
}

enum flow flow_of(const ZydisDecodedInstruction *insn)
{
	const bool is_indirect = insn->opcode == 0xff;
	const bool has_target = is_indirect || insn->raw.imm[0].is_relative;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		if (!has_target) /* xend, which faults outside of a transaction */
			return FLOW_NEXT;
		if (is_loop(insn))
			return FLOW_LOOP;
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? FLOW_XBEGIN : FLOW_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (!has_target) /* xabort, which is nothing there */
			return FLOW_NEXT;
		return is_indirect ? FLOW_JUMP_INDIRECT : FLOW_JUMP;
	case ZYDIS_CATEGORY_CALL:
		return is_indirect ? FLOW_CALL_INDIRECT : FLOW_CALL;
	case ZYDIS_CATEGORY_RET:
		return FLOW_RETURN;
	default:
		return insn->mnemonic == ZYDIS_MNEMONIC_SYSCALL ? FLOW_SYSCALL : FLOW_NEXT;
	}
}

static enum branch_kind kind_of(enum flow flow)
{
	switch (flow) {
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
		return BRANCH_NONE;
	}
}

static bool is_trap(const ZydisDecodedInstruction *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_UD2 || insn->mnemonic == ZYDIS_MNEMONIC_HLT;
}

static struct branch branch_of(enum flow flow, uint64_t target, uint8_t length)
{
	struct branch branch = {kind_of(flow), 0, length};
	if (branch.kind == BRANCH_CONDITIONAL || branch.kind == BRANCH_JUMP)
		branch.target = target;
	return branch;
}

struct branch branch_of_bytes(const uint8_t *bytes, size_t size, uint64_t offset)
{
	struct decoded common;
	if (decode_common(bytes, size, offset, &common))
		return branch_of((enum flow)common.flow, common.target, common.length);
	return branch_of_any(bytes, size, offset);
}

struct branch branch_of_any(const uint8_t *bytes, size_t size, uint64_t offset)
{
	ZydisDecodedInstruction insn;
	if (!decode_head(bytes, size, &insn))
		return (struct branch){BRANCH_LEAVE, 0, 0};
	if (is_trap(&insn))
		return (struct branch){BRANCH_LEAVE, 0, insn.length};
	return branch_of(flow_of(&insn), offset + insn.length + (uint64_t)insn.raw.imm[0].value.s,
			 insn.length);
}
