/* Which status flags matter, by an obvious walk forward over Zydis' tables. */
#include "tests/unit/tracer/translate/lockstep.h"

#include <Zydis/Zydis.h>

#define MAX_WALK 20000

/* Flags that are new behind the instruction whatever its operands are.  A shift by 0 and a string
 * instruction that repeats 0 times leave them; what the manual calls undefined is taken as left,
 * but for the logic instructions' AF, which does not depend on the old one. */
static uint32_t rewritten(const ZydisDecodedInstruction *insn)
{
	const ZydisAccessedFlags *flags = insn->cpu_flags;
	if (insn->meta.category == ZYDIS_CATEGORY_SHIFT ||
	    insn->meta.category == ZYDIS_CATEGORY_ROTATE ||
	    insn->meta.category == ZYDIS_CATEGORY_STRINGOP || !flags)
		return 0;
	uint32_t known = flags->modified | flags->set_0 | flags->set_1;
	if (insn->meta.category == ZYDIS_CATEGORY_LOGICAL)
		known |= flags->undefined;
	return known & STATUS_FLAGS;
}

static uint32_t tested(const ZydisDecodedInstruction *insn)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_PUSHF || insn->mnemonic == ZYDIS_MNEMONIC_PUSHFQ ||
	    insn->mnemonic == ZYDIS_MNEMONIC_LAHF || insn->meta.category == ZYDIS_CATEGORY_SYSCALL)
		return STATUS_FLAGS;
	return insn->cpu_flags ? insn->cpu_flags->tested & STATUS_FLAGS : 0;
}

/* On such a way flags are nobody's: it may lead through the dynamic linker. */
static bool goes_through_got(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_UNCOND_BR && insn->opcode == 0xff &&
	       insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 5;
}

uint32_t flags_live_at(const struct lockstep *lockstep, uint64_t pc)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	uint32_t live = 0, open = STATUS_FLAGS; /* not yet rewritten */
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 0; open && i < MAX_WALK; i++) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, (void *)pc, lockstep_code_at(lockstep, pc), &insn)))
			break;
		live |= tested(&insn) & open;
		open &= ~rewritten(&insn);
		pc += insn.length;
		switch (insn.meta.category) {
		case ZYDIS_CATEGORY_UNCOND_BR:
		case ZYDIS_CATEGORY_CALL: /* where it begins, the flags are the caller's */
			if (goes_through_got(&insn))
				return live;
			if (!insn.raw.imm[0].is_relative)
				return live | open;
			pc += (uint64_t)insn.raw.imm[0].value.s;
			break;
		case ZYDIS_CATEGORY_COND_BR:
		case ZYDIS_CATEGORY_RET:
		case ZYDIS_CATEGORY_SYSCALL:
			return live | open;
		default:
			break;
		}
	}
	return live | open;
}
