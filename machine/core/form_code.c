/* Forms of instructions become code. */
#include "machine/core/form_code.h"

#include "machine/topology/cpu_features.h"

#include <string.h>

/* ---- encoding ---- */

static ZydisRegister register_of(enum form_kind kind, int number)
{
	static const ZydisRegisterClass classes[FORM_N_KINDS] = {
		[KIND_R8] = ZYDIS_REGCLASS_GPR8,   [KIND_R16] = ZYDIS_REGCLASS_GPR16,
		[KIND_R32] = ZYDIS_REGCLASS_GPR32, [KIND_R64] = ZYDIS_REGCLASS_GPR64,
		[KIND_XMM] = ZYDIS_REGCLASS_XMM,   [KIND_YMM] = ZYDIS_REGCLASS_YMM,
		[KIND_ZMM] = ZYDIS_REGCLASS_ZMM,   [KIND_K] = ZYDIS_REGCLASS_MASK,
	};
	if (kind == KIND_CL)
		return ZYDIS_REGISTER_CL;
	if (kind == KIND_R8 && number >= 4)
		number += 4; /* behind ah, ch, dh and bh */
	return classes[kind] ? ZydisRegisterEncode(classes[kind], (ZyanU8)number)
			     : ZYDIS_REGISTER_NONE;
}

static void set_memory(ZydisEncoderOperand *operand, int bytes, int displacement)
{
	operand->type = ZYDIS_OPERAND_TYPE_MEMORY;
	operand->mem.base = ZYDIS_REGISTER_R14;
	operand->mem.displacement = displacement;
	operand->mem.size = (ZyanU16)bytes;
}

/* What an address is computed from: the operand's register and the constant. */
static void set_address(ZydisEncoderOperand *operand, enum form_kind kind, int number)
{
	const ZydisRegister reg = register_of(KIND_R64, number);
	const bool scaled =
		kind == KIND_A_S || kind == KIND_A_SD || kind == KIND_A_BS || kind == KIND_A_BSD;
	const bool indexed = scaled || kind == KIND_A_BI || kind == KIND_A_BID;
	const bool based = kind != KIND_A_S && kind != KIND_A_SD && kind != KIND_A_D;
	const bool displaced = kind == KIND_A_BD || kind == KIND_A_BID || kind == KIND_A_SD ||
			       kind == KIND_A_BSD || kind == KIND_A_D || kind == KIND_A_S;
	operand->type = ZYDIS_OPERAND_TYPE_MEMORY;
	operand->mem.size = 8;
	operand->mem.displacement = displaced ? 24 : 0;
	operand->mem.scale = indexed ? (scaled ? 8 : 1) : 0;
	if (kind == KIND_A_RIP)
		operand->mem.base = ZYDIS_REGISTER_RIP;
	else if (based)
		operand->mem.base = reg;
	if (indexed)
		operand->mem.index = based ? ZYDIS_REGISTER_R13 : reg;
}

static bool set_operand(ZydisEncoderOperand *operand, enum form_kind kind, int number)
{
	static const int bytes[FORM_N_KINDS] = {
		[KIND_M8] = 1,    [KIND_M16] = 2,   [KIND_M32] = 4,   [KIND_M64] = 8,
		[KIND_M128] = 16, [KIND_M256] = 32, [KIND_M512] = 64,
	};
	static const uint64_t immediates[FORM_N_KINDS] = {
		[KIND_I8] = 3,
		[KIND_I16] = 0x1234,
		[KIND_I32] = 0x123456,
		[KIND_I64] = 0x123456789abcdef,
	};
	if (kind >= KIND_A_RIP && kind <= KIND_A_D) {
		set_address(operand, kind, number);
		return true;
	}
	if (immediates[kind]) {
		operand->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
		operand->imm.u = immediates[kind];
		return true;
	}
	if (bytes[kind]) {
		set_memory(operand, bytes[kind], number);
		return true;
	}
	operand->type = ZYDIS_OPERAND_TYPE_REGISTER;
	operand->reg.value = register_of(kind, number);
	return operand->reg.value != ZYDIS_REGISTER_NONE;
}

/* `mask`: the number of the mask register, which stands behind the first operand; below 0: none. */
static bool encode_with(struct insn_form form, const struct form_registers *registers, int mask,
			uint8_t *bytes, size_t *size)
{
	ZydisEncoderRequest request;
	ZyanUSize length = ZYDIS_MAX_INSTRUCTION_LENGTH;
	int at = 0;
	memset(&request, 0, sizeof(request));
	request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
	request.mnemonic = (ZydisMnemonic)form.mnemonic;
	if (form.flags & FORM_LOCKED)
		request.prefixes |= ZYDIS_ATTRIB_HAS_LOCK;
	for (int i = 0; i < form_count(form); i++) {
		if (!set_operand(&request.operands[at++], form.operands[i], registers->number[i]))
			return false;
		if (i > 0 || mask < 0 || form_count(form) == ZYDIS_ENCODER_MAX_OPERANDS)
			continue;
		request.operands[at].type = ZYDIS_OPERAND_TYPE_REGISTER;
		request.operands[at++].reg.value = (ZydisRegister)(ZYDIS_REGISTER_K0 + mask);
		request.evex.zeroing_mask = (form.flags & FORM_ZEROING) != 0;
	}
	request.operand_count = (ZyanU8)at;
	if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(&request, bytes, &length)))
		return false;
	*size = length;
	return true;
}

/* EVEX wants a mask register also where it is k0, which masks nothing. */
static bool encode(struct insn_form form, const struct form_registers *registers, uint8_t *bytes,
		   size_t *size)
{
	if (form.flags & FORM_MASKED)
		return encode_with(form, registers, CODE_MASK, bytes, size);
	return encode_with(form, registers, -1, bytes, size) ||
	       encode_with(form, registers, 0, bytes, size);
}

void code_add_bytes(struct code *code, const void *bytes, size_t size)
{
	code->failed |= size > code->capacity - code->size;
	if (code->failed)
		return;
	memcpy(code->bytes + code->size, bytes, size);
	code->size += size;
}

void code_add(struct code *code, struct insn_form form, const struct form_registers *registers)
{
	static const uint8_t branch[] = {0x0f, 0x84, 0, 0, 0, 0}; /* jz to what is behind it */
	static const uint8_t nop[] = {0x0f, 0x1f, 0x00};
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t size = 0;
	if (form.mnemonic == ZYDIS_MNEMONIC_JZ) {
		code_add_bytes(code, branch, sizeof(branch));
	} else if (form.mnemonic == ZYDIS_MNEMONIC_NOP) {
		code_add_bytes(code, nop, sizeof(nop));
	} else {
		code->failed |= !encode(form, registers, bytes, &size);
		code_add_bytes(code, bytes, size);
	}
}

void code_add_named(struct code *code, const char *name, int first, int second, int third)
{
	struct insn_form form = {0};
	code->failed |= !form_find(name, &form);
	code_add(code, form, &(struct form_registers){{first, second, third}});
}

/* ---- what may be executed ---- */

static bool has_set(ZydisISASet set)
{
	static const struct {
		ZydisISASet first, last;
		unsigned needs;
	} sets[] = {
		{ZYDIS_ISA_SET_I86, ZYDIS_ISA_SET_I86, CPU_BASE},
		{ZYDIS_ISA_SET_I186, ZYDIS_ISA_SET_I186, CPU_BASE},
		{ZYDIS_ISA_SET_I386, ZYDIS_ISA_SET_I386, CPU_BASE},
		{ZYDIS_ISA_SET_I486, ZYDIS_ISA_SET_I486REAL, CPU_BASE},
		{ZYDIS_ISA_SET_CMOV, ZYDIS_ISA_SET_CMOV, CPU_BASE},
		{ZYDIS_ISA_SET_LONGMODE, ZYDIS_ISA_SET_LONGMODE, CPU_BASE},
		{ZYDIS_ISA_SET_SSE, ZYDIS_ISA_SET_SSE2, CPU_BASE},
		{ZYDIS_ISA_SET_SSE3, ZYDIS_ISA_SET_SSE3, CPU_SSE4_1},
		{ZYDIS_ISA_SET_SSSE3, ZYDIS_ISA_SET_SSSE3, CPU_SSE4_1},
		{ZYDIS_ISA_SET_SSE4, ZYDIS_ISA_SET_SSE4, CPU_SSE4_1},
		{ZYDIS_ISA_SET_SSE42, ZYDIS_ISA_SET_SSE42, CPU_SSE4_2},
		{ZYDIS_ISA_SET_POPCNT, ZYDIS_ISA_SET_POPCNT, CPU_POPCNT},
		{ZYDIS_ISA_SET_LZCNT, ZYDIS_ISA_SET_LZCNT, CPU_LZCNT},
		{ZYDIS_ISA_SET_BMI1, ZYDIS_ISA_SET_BMI1, CPU_BMI1},
		{ZYDIS_ISA_SET_BMI2, ZYDIS_ISA_SET_BMI2, CPU_BMI2},
		{ZYDIS_ISA_SET_F16C, ZYDIS_ISA_SET_F16C, CPU_F16C | CPU_AVX},
		{ZYDIS_ISA_SET_AVX, ZYDIS_ISA_SET_AVX, CPU_AVX},
		{ZYDIS_ISA_SET_AVX2, ZYDIS_ISA_SET_AVX2GATHER, CPU_AVX2},
		{ZYDIS_ISA_SET_FMA, ZYDIS_ISA_SET_FMA, CPU_FMA},
		{ZYDIS_ISA_SET_AVX512BW_128, ZYDIS_ISA_SET_AVX512BW_KOP,
		 CPU_AVX512BW | CPU_AVX512VL},
		{ZYDIS_ISA_SET_AVX512DQ_128, ZYDIS_ISA_SET_AVX512DQ_SCALAR,
		 CPU_AVX512DQ | CPU_AVX512VL},
		{ZYDIS_ISA_SET_AVX512F_128, ZYDIS_ISA_SET_AVX512F_SCALAR,
		 CPU_AVX512F | CPU_AVX512VL},
	};
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (set >= sets[i].first && set <= sets[i].last)
			return cpu_has(sets[i].needs);
	return false;
}

/* Categories without system, string, stack and x87 instructions, and such as change the flow. */
static bool is_harmless(const ZydisDecodedInstruction *insn)
{
	static const ZydisInstructionCategory harmless[] = {
		ZYDIS_CATEGORY_AVX,      ZYDIS_CATEGORY_AVX2,    ZYDIS_CATEGORY_AVX512,
		ZYDIS_CATEGORY_BINARY,   ZYDIS_CATEGORY_BITBYTE, ZYDIS_CATEGORY_BLEND,
		ZYDIS_CATEGORY_BMI1,     ZYDIS_CATEGORY_BMI2,    ZYDIS_CATEGORY_BROADCAST,
		ZYDIS_CATEGORY_CMOV,     ZYDIS_CATEGORY_CONVERT, ZYDIS_CATEGORY_DATAXFER,
		ZYDIS_CATEGORY_KMASK,    ZYDIS_CATEGORY_LOGICAL, ZYDIS_CATEGORY_LOGICAL_FP,
		ZYDIS_CATEGORY_LZCNT,    ZYDIS_CATEGORY_ROTATE,  ZYDIS_CATEGORY_SETCC,
		ZYDIS_CATEGORY_SHIFT,    ZYDIS_CATEGORY_SSE,     ZYDIS_CATEGORY_VFMA,
		ZYDIS_CATEGORY_COMPRESS, ZYDIS_CATEGORY_EXPAND,  ZYDIS_CATEGORY_CONFLICT,
	};
	const bool nothing =
		insn->operand_count_visible == 0 && insn->meta.category != ZYDIS_CATEGORY_CONVERT;
	if (insn->mnemonic == ZYDIS_MNEMONIC_LEA)
		return true;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (insn->meta.category == harmless[i])
			return !nothing && insn->meta.isa_set != ZYDIS_ISA_SET_SSEMXCSR;
	return false;
}

/* A register or a place that is not named; false: of a kind that must be left alone. */
static bool note_hidden(const ZydisDecodedOperand *operand, struct form_shape *shape)
{
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	const ZydisRegister reg = operand->reg.value;
	const bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
		   writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if (reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_MXCSR)
		return true;
	const uint8_t number = general_register(reg);
	shape->reads_rax |= reads && number == 0;
	shape->writes_rax |= writes && number == 0;
	shape->reads_rdx |= reads && number == 2;
	return number == 0 || number == 2;
}

/* Memory that is moved from or to, or read by others at the same place. */
static bool is_own_memory(const ZydisDecodedOperand *operand)
{
	return operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
	       (operand->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		operand->mem.base == ZYDIS_REGISTER_R14 &&
		operand->mem.index == ZYDIS_REGISTER_NONE);
}

static bool note_operands(const struct full_insn *insn, struct form_shape *shape)
{
	bool allowed = true;
	int n = 0;
	for (int i = 0; i < insn->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		if (i >= insn->insn.operand_count_visible) {
			allowed &= note_hidden(operand, shape);
			continue;
		}
		if (form_is_mask(insn, i))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			allowed &= is_own_memory(operand);
		if (n < FORM_OPERANDS && operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			shape->reads[n] = operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ |
							      ZYDIS_OPERAND_ACTION_CONDWRITE) ||
					  form_keeps_rest(insn, operand);
			shape->writes[n] = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		}
		if (n < FORM_OPERANDS && operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			shape->reads[n] = operand->mem.base != ZYDIS_REGISTER_RIP;
		n++;
	}
	shape->n = n;
	return allowed;
}

bool form_shape_of(struct insn_form form, struct form_shape *out)
{
	static const struct form_registers some = {{3, 5, 6, 7, 8}};
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	struct full_insn insn;
	size_t size = 0;
	*out = (struct form_shape){0};
	if (form.mnemonic == ZYDIS_MNEMONIC_JZ || form.mnemonic == ZYDIS_MNEMONIC_NOP)
		return true;
	if ((form.flags & FORM_REPEATED) || !encode(form, &some, bytes, &size) ||
	    !decode_full(bytes, size, &insn))
		return false;
	if (!has_set(insn.insn.meta.isa_set) || !is_harmless(&insn.insn) ||
	    (insn.insn.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) || !note_operands(&insn, out))
		return false;
	const ZydisAccessedFlags *flags = insn.insn.cpu_flags;
	out->reads_flags = flags && flags->tested;
	out->writes_flags = flags && (flags->modified | flags->set_0 | flags->set_1);
	out->divides = insn.insn.mnemonic == ZYDIS_MNEMONIC_DIV ||
		       insn.insn.mnemonic == ZYDIS_MNEMONIC_IDIV;
	return !out->divides || form.operands[0] == KIND_R32 || form.operands[0] == KIND_R64;
}

/* Not in the tables of form_shape_of: what needs no more than any x86-64 has, and does nothing. */
static bool is_idle(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_NOP ||
	       insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       (insn->meta.category == ZYDIS_CATEGORY_PREFETCH &&
		insn->meta.isa_set == ZYDIS_ISA_SET_SSE_PREFETCH);
}

static bool is_common_register(ZydisRegister reg)
{
	switch (ZydisRegisterGetClass(reg)) {
	case ZYDIS_REGCLASS_XMM:
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_MASK:
	case ZYDIS_REGCLASS_FLAGS:
		return true;
	default:
		return reg == ZYDIS_REGISTER_MXCSR || general_register(reg) != NO_GENERAL;
	}
}

bool code_may_run(const struct full_insn *insn)
{
	const ZydisInstructionAttributes refused = ZYDIS_ATTRIB_IS_PRIVILEGED |
						   ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						   ZYDIS_ATTRIB_HAS_REPNE;
	bool allowed = is_idle(&insn->insn) ||
		       (is_harmless(&insn->insn) && has_set(insn->insn.meta.isa_set));
	allowed &= !(insn->insn.attributes & refused) &&
		   insn->insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE;
	for (int i = 0; i < insn->insn.operand_count && allowed; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			allowed = is_common_register(operand->reg.value);
		else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			allowed = i < insn->insn.operand_count_visible &&
				  operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB &&
				  operand->mem.segment != ZYDIS_REGISTER_FS &&
				  operand->mem.segment != ZYDIS_REGISTER_GS;
	}
	return allowed;
}
