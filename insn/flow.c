/* Classifies instructions by where control goes behind them. */
#include "insn/flow.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>

/* loop, loope, loopne, jrcxz and jecxz. */
static bool is_loop(const ZydisDecodedInstruction *insn)
{
	return insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && insn->opcode >= 0xe0 &&
	       insn->opcode <= 0xe3;
}

enum flow flow_of(const ZydisDecodedInstruction *insn)
{
	const bool is_indirect = insn->opcode == 0xff;
	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		if (is_loop(insn))
			return FLOW_LOOP;
		return insn->mnemonic == ZYDIS_MNEMONIC_XBEGIN ? FLOW_XBEGIN : FLOW_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		if (insn->mnemonic == ZYDIS_MNEMONIC_XABORT) /* nothing outside of a transaction */
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
