/* Decodes an instruction for the translator: where it leads to, what it does to the status flags,
 * what about it depends on its place, and what must be counted at run time. */
#include "insn/decode.h"

#include "insn/decode_common.h"
#include "insn/decoder.h"
#include "insn/traits.h"

#include <string.h>

#define STATUS_FLAGS                                                                 \
	(ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | \
	 ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF)

/* Instructions that would show or change what belongs to rfprof, or whose copy would go wrong. */
static const char *why_native(const ZydisDecodedInstruction *insn, unsigned traits)
{
	if (insn->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS || traits & TRAIT_GS)
		return "the program uses the GS segment";
	if (traits & TRAIT_FAR)
		return "a far transfer of control";
	if (insn->mnemonic == ZYDIS_MNEMONIC_SYSCALL && insn->length != 2)
		return "a system call with prefixes";
	if (insn->mnemonic == ZYDIS_MNEMONIC_MOV && insn->opcode == 0x8e &&
	    insn->raw.modrm.reg == 5)
		return "the program uses the GS segment";
	return NULL;
}

/* Far and 16-bit transfers exist in no compiled program; they are left to the processor. */
static bool is_odd_transfer(const ZydisDecodedInstruction *insn)
{
	return insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
	       (insn->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE &&
		insn->meta.category != ZYDIS_CATEGORY_COND_BR && insn->operand_width == 16);
}

/* Work that depends on run-time state: rep strings, masks, tiles.  Only these few instructions
 * need their operands decoded. */
static bool may_have_units(const ZydisDecodedInstruction *insn)
{
	if (insn->attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return true;
	if (insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX)
		return insn->avx.mask.reg != ZYDIS_REGISTER_NONE &&
		       insn->avx.mask.reg != ZYDIS_REGISTER_K0;
	return insn->meta.category == ZYDIS_CATEGORY_AVX2GATHER ||
	       insn->meta.category == ZYDIS_CATEGORY_AMX_TILE ||
	       traits_of(insn->mnemonic) & TRAIT_LANES;
}

static void set_native(struct decoded *out, const char *why)
{
	out->flow = FLOW_NATIVE;
	out->why_native = why;
}

static void note_units(const ZydisDecodedInstruction *insn, const uint8_t *bytes,
		       struct decoded *out)
{
	if (!may_have_units(insn))
		return;
	struct full_insn full;
	if (!decode_full(bytes, insn->length, &full))
		return;
	work_of_decoded(&full.insn, full.operands, &out->units);
	if (out->units.units == UNITS_REP && insn->address_width != 64)
		set_native(out, "a string instruction with 32-bit addresses");
}

static const uint8_t legacy_prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					  0x66, 0x67, 0xf0, 0xf2, 0xf3};

static void note_addresses(const ZydisDecodedInstruction *insn, struct decoded *out)
{
	const uint64_t next = out->pc + insn->length;
	out->modrm_offset = insn->raw.modrm.offset;
	out->rip_relative = (insn->attributes & ZYDIS_ATTRIB_HAS_MODRM) &&
			    insn->raw.modrm.mod == 0 && insn->raw.modrm.rm == 5 &&
			    insn->raw.disp.size == 32; /* not so: moves of control registers */
	if (out->rip_relative) {
		out->disp_offset = insn->raw.disp.offset;
		out->target = next + (uint64_t)insn->raw.disp.value;
		if (insn->address_width == 32)
			set_native(out, "a 32-bit instruction-relative address");
	} else if (insn->raw.imm[0].is_relative) {
		out->target = next + (uint64_t)insn->raw.imm[0].value.s;
	}
	while (out->prefix_end < insn->length &&
	       memchr(legacy_prefixes, out->bytes[out->prefix_end], sizeof(legacy_prefixes)))
		out->prefix_end++;
}

void decode_instruction(const uint8_t *bytes, size_t size, uint64_t pc, struct decoded *out)
{
	if (!decode_common(bytes, size, pc, out))
		decode_any(bytes, size, pc, out);
}

void decode_any(const uint8_t *bytes, size_t size, uint64_t pc, struct decoded *out)
{
	ZydisDecodedInstruction insn;
	*out = (struct decoded){.pc = pc};
	if (!decode_head(bytes, size, &insn)) {
		set_native(out, "an instruction that the decoder does not know");
		return;
	}
	out->length = insn.length;
	memcpy(out->bytes, bytes, insn.length);
	out->flow = flow_of(&insn);
	const unsigned traits = traits_of(insn.mnemonic);
	out->reads_flags =
		traits & TRAIT_READS || (insn.cpu_flags && insn.cpu_flags->tested & STATUS_FLAGS);
	out->kills_flags = traits & TRAIT_KILLS;
	out->keeps_carry = traits & TRAIT_KEEPS_CARRY;
	out->restores_flags = traits & TRAIT_RESTORES;
	note_addresses(&insn, out);
	if (out->flow == FLOW_RETURN)
		out->pop_bytes = insn.raw.imm[0].size ? (uint16_t)insn.raw.imm[0].value.u : 0;
	const char *why = why_native(&insn, traits);
	if (why)
		set_native(out, why);
	else if (out->flow != FLOW_NEXT && out->flow != FLOW_SYSCALL && is_odd_transfer(&insn))
		set_native(out, "a far or 16-bit transfer of control");
	else
		note_units(&insn, bytes, out);
}

static unsigned register_bit(ZydisRegister reg)
{
	const uint8_t number = general_register(reg);
	return number == NO_GENERAL ? 0 : 1u << number;
}

unsigned decode_used_registers(const struct decoded *insn)
{
	struct full_insn full;
	unsigned used = 0;
	if (insn->used_known)
		return insn->used;
	if (!decode_full(insn->bytes, insn->length, &full))
		return 0xffff;
	for (int i = 0; i < full.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &full.operands[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			used |= register_bit(operand->reg.value);
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			used |= register_bit(operand->mem.base) | register_bit(operand->mem.index);
	}
	/* registers that come without being named: cpuid, xgetbv, xsave and the like */
	const ZydisInstructionCategory category = full.insn.meta.category;
	if (category == ZYDIS_CATEGORY_SYSTEM || category == ZYDIS_CATEGORY_XSAVE ||
	    category == ZYDIS_CATEGORY_XSAVEOPT)
		used |= 0xf;
	return used;
}

uint64_t decode_version(void)
{
	return ZydisGetVersion();
}

bool decode_mask_is_here(const struct work *work)
{
	if (work->units == UNITS_VMASK)
		return __builtin_cpu_supports("avx");
	return work->lanes <= 16 ? __builtin_cpu_supports("avx512f")
				 : __builtin_cpu_supports("avx512bw");
}
