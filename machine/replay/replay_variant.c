/* Instructions with other operands, by Zydis' encoder. */
#include "machine/replay/replay_variant.h"

#include <string.h>

/* ---- what addresses come from ---- */

static bool writes_needed(const struct dataflow *flow, const bool *needed)
{
	bool found = false;
	for (unsigned w = 0; w < flow->n_writes; w++)
		found |= needed[flow->writes[w]];
	return found;
}

/* True: something new is needed. */
static bool need(bool *needed, uint8_t reg)
{
	const bool is_new = reg != NO_REGISTER && !needed[reg];
	if (is_new)
		needed[reg] = true;
	return is_new;
}

void replay_find_addresses(struct replay_use *use)
{
	bool needed[N_REGISTERS] = {false}, more = true;
	while (more) {
		more = false;
		for (size_t i = use->n; i-- > 0;) {
			const struct dataflow *flow = &use->flows[i];
			if (flow->loads || flow->stores) {
				more |= need(needed, flow->memory.base);
				more |= need(needed, flow->memory.index);
			}
			use->is_address[i] = writes_needed(flow, needed);
			for (unsigned r = 0; r < flow->n_reads && use->is_address[i]; r++)
				more |= need(needed, flow->reads[r]);
		}
	}
}

/* ---- other operands ---- */

static bool is_vector(ZydisRegister reg)
{
	const ZydisRegisterClass class = ZydisRegisterGetClass(reg);
	return class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
	       class == ZYDIS_REGCLASS_ZMM;
}

static ZydisRegister vector_register(unsigned bits, int number)
{
	const ZydisRegisterClass class = bits > 256   ? ZYDIS_REGCLASS_ZMM
					 : bits > 128 ? ZYDIS_REGCLASS_YMM
						      : ZYDIS_REGCLASS_XMM;
	return ZydisRegisterEncode(class, (ZyanU8)number);
}

static ZydisRegister general_of(unsigned bits, int number)
{
	const ZydisRegisterClass class = bits == 64   ? ZYDIS_REGCLASS_GPR64
					 : bits == 32 ? ZYDIS_REGCLASS_GPR32
					 : bits == 16 ? ZYDIS_REGCLASS_GPR16
						      : ZYDIS_REGCLASS_GPR8;
	if (bits == 8 && number >= 4)
		number += 4; /* behind ah, ch, dh and bh */
	return ZydisRegisterEncode(class, (ZyanU8)number);
}

/* The visible operand in memory that is accessed, or -1. */
static int memory_operand(const struct full_insn *insn)
{
	for (int i = 0; i < insn->insn.operand_count_visible; i++)
		if (insn->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    insn->operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return i;
	return -1;
}

static bool has_vectors(const struct full_insn *insn)
{
	bool found = false;
	for (int i = 0; i < insn->insn.operand_count_visible; i++)
		found |= insn->operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 is_vector(insn->operands[i].reg.value);
	return found;
}

static bool request_of(const struct full_insn *insn, ZydisEncoderRequest *request)
{
	return ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		&insn->insn, insn->operands, insn->insn.operand_count_visible, request));
}

static bool add_request(struct code *code, const ZydisEncoderRequest *request)
{
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize size = sizeof(bytes);
	if (ZYAN_FAILED(ZydisEncoderEncodeInstruction(request, bytes, &size)))
		return false;
	code_add_bytes(code, bytes, size);
	return true;
}

static ZydisEncoderRequest move(ZydisMnemonic mnemonic, ZydisRegister to)
{
	ZydisEncoderRequest request;
	memset(&request, 0, sizeof(request));
	request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
	request.mnemonic = mnemonic;
	request.operand_count = 2;
	request.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
	request.operands[0].reg.value = to;
	return request;
}

/* ---- registers that nobody needs ---- */

/* A general register that is not used beside the one that counts, which is the first such; -1. */
static int free_general(const struct replay_use *use)
{
	int found = 0;
	for (int i = 0; i < 16; i++)
		if (i != 4 && !(use->general >> i & 1) && found++)
			return i;
	return -1;
}

/* A vector that keeps the number that it begins with; -1. */
static int still_vector(const struct replay_use *use)
{
	for (int i = 15; i >= 0; i--)
		if (!(use->vectors_written >> i & 1))
			return i;
	return -1;
}

/* ---- variants ---- */

/* In place of arithmetic with an operand in memory, a load of that operand to where the result
 * went; false: it stays as it is. */
static bool add_load(const struct full_insn *insn, int memory, struct code *code)
{
	ZydisEncoderRequest from;
	const ZydisDecodedOperand *to = &insn->operands[0];
	const bool legacy = insn->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	const unsigned bits = insn->operands[memory].size;
	if (memory == 0 || to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) || insn->insn.avx.broadcast.mode ||
	    !request_of(insn, &from))
		return false;
	ZydisEncoderRequest request;
	if (is_vector(to->reg.value)) {
		const int number = ZydisRegisterGetId(to->reg.value);
		const ZydisMnemonic mnemonic =
			bits == 32   ? legacy ? ZYDIS_MNEMONIC_MOVSS : ZYDIS_MNEMONIC_VMOVSS
			: bits == 64 ? legacy ? ZYDIS_MNEMONIC_MOVSD : ZYDIS_MNEMONIC_VMOVSD
				     : (legacy ? ZYDIS_MNEMONIC_MOVUPS : ZYDIS_MNEMONIC_VMOVUPS);
		if (bits < 32)
			return false;
		request = move(mnemonic, vector_register(bits, number));
	} else {
		const int number = general_register(to->reg.value);
		if (number == NO_GENERAL || bits > 64)
			return false;
		request = move(bits < 32 ? ZYDIS_MNEMONIC_MOVZX : ZYDIS_MNEMONIC_MOV,
			       general_of(bits < 32 ? 32 : bits, number));
	}
	request.operands[1] = from.operands[memory];
	return add_request(code, &request);
}

static enum replay_why add_memory(const struct replay_use *use, size_t i, struct code *code,
				  bool *changed)
{
	const struct full_insn *insn = &use->full[i];
	const struct dataflow *flow = &use->flows[i];
	const bool keeps = flow->stores || use->is_address[i] ||
			   insn->insn.meta.category == ZYDIS_CATEGORY_PREFETCH;
	if (keeps || (flow->loads && (!flow->parts.form.mnemonic || flow->parts.memory_in_form)))
		return REPLAY_DONE;
	if (!flow->loads)
		*changed = true;
	else
		*changed = add_load(insn, memory_operand(insn), code);
	return REPLAY_DONE;
}

/* In place of a load, a copy of a register that nobody writes. */
static bool add_copy(const struct replay_use *use, const struct full_insn *insn, struct code *code)
{
	const ZydisDecodedOperand *to = &insn->operands[0];
	const bool vector = is_vector(to->reg.value);
	const int number = general_register(to->reg.value),
		  from = vector ? still_vector(use) : free_general(use);
	if (from < 0 || (!vector && number == NO_GENERAL))
		return false;
	const bool legacy = insn->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	const unsigned bits = vector ? to->size : 64;
	ZydisEncoderRequest request =
		vector ? move(legacy ? ZYDIS_MNEMONIC_MOVAPS : ZYDIS_MNEMONIC_VMOVAPS,
			      to->reg.value)
		       : move(ZYDIS_MNEMONIC_MOV, general_of(64, number));
	request.operands[1].type = ZYDIS_OPERAND_TYPE_REGISTER;
	request.operands[1].reg.value = vector ? vector_register(bits, from) : general_of(64, from);
	return add_request(code, &request);
}

static bool add_with_register(const struct replay_use *use, const struct full_insn *insn,
			      struct code *code)
{
	ZydisEncoderRequest request;
	const int memory = memory_operand(insn), vector = still_vector(use),
		  general = free_general(use);
	const unsigned bits = insn->operands[memory].size;
	if (insn->insn.avx.broadcast.mode || !request_of(insn, &request))
		return false;
	ZydisEncoderOperand *operand = &request.operands[memory];
	memset(operand, 0, sizeof(*operand));
	operand->type = ZYDIS_OPERAND_TYPE_REGISTER;
	operand->reg.value = vector_register(bits, vector);
	if (vector >= 0 && has_vectors(insn) && add_request(code, &request))
		return true;
	if (general < 0 || bits > 64)
		return false;
	operand->reg.value = general_of(bits, general);
	return add_request(code, &request);
}

static enum replay_why add_arithmetic(const struct replay_use *use, size_t i, struct code *code,
				      bool *changed)
{
	const struct full_insn *insn = &use->full[i];
	const struct dataflow *flow = &use->flows[i];
	if (!flow->loads && !flow->stores) {
		*changed = insn->insn.meta.category == ZYDIS_CATEGORY_PREFETCH;
		return REPLAY_DONE;
	}
	*changed = true;
	if (flow->stores)
		return flow->loads || flow->parts.form.mnemonic ? REPLAY_NO_VARIANT : REPLAY_DONE;
	if (flow->parts.memory_in_form || memory_operand(insn) < 0)
		return REPLAY_NO_VARIANT;
	return (flow->parts.form.mnemonic ? add_with_register(use, insn, code)
					  : add_copy(use, insn, code))
		       ? REPLAY_DONE
		       : REPLAY_NO_VARIANT;
}

/* Stores have a line of their own: a load would wait for the store before it. */
static enum replay_why add_one_line(const struct replay_use *use, size_t i, struct code *code,
				    bool *changed)
{
	ZydisEncoderRequest request;
	const struct full_insn *insn = &use->full[i];
	const struct dataflow *flow = &use->flows[i];
	const int memory = memory_operand(insn);
	if (!flow->loads && !flow->stores)
		return REPLAY_DONE;
	if (memory < 0 || (flow->loads && flow->stores) || !request_of(insn, &request))
		return REPLAY_NO_VARIANT;
	ZydisEncoderOperand *operand = &request.operands[memory];
	operand->mem.base = operand->mem.index = ZYDIS_REGISTER_NONE;
	operand->mem.scale = 0;
	operand->mem.displacement = (ZyanI64)(REPLAY_LINES + (flow->stores ? 0x540 : 0));
	*changed = true;
	return add_request(code, &request) ? REPLAY_DONE : REPLAY_NO_VARIANT;
}

enum replay_why replay_variant_add(const struct replay_use *use, size_t i,
				   const struct way_step *step, enum replay_variant variant,
				   struct code *code, bool *changed)
{
	enum replay_why why = REPLAY_DONE;
	*changed = false;
	if (variant == REPLAY_MEMORY)
		why = add_memory(use, i, code, changed);
	else if (variant == REPLAY_ARITHMETIC)
		why = add_arithmetic(use, i, code, changed);
	else if (variant == REPLAY_ONE_LINE)
		why = add_one_line(use, i, code, changed);
	if (why != REPLAY_DONE || *changed)
		return why;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	const ZydisDecodedInstruction *insn = &use->full[i].insn;
	memcpy(bytes, step->bytes, step->length);
	if (insn->attributes & ZYDIS_ATTRIB_IS_RELATIVE) {
		const uint64_t target =
			step->offset + step->length + (uint64_t)insn->raw.disp.value;
		const uint64_t address = REPLAY_RELATIVE + (target & 0xfffff);
		const int32_t distance =
			(int32_t)(address - (REPLAY_CODE + code->size + step->length));
		memcpy(bytes + insn->raw.disp.offset, &distance, sizeof(distance));
	}
	code_add_bytes(code, bytes, step->length);
	return REPLAY_DONE;
}
