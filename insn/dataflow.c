/* Which values an instruction's result comes from. */
#include "insn/dataflow.h"

#include "insn/decoder.h"

#include <string.h>

#define RSP 4

static uint8_t number_of(ZydisRegister reg)
{
	const ZydisRegister whole =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	const uint8_t general = general_register(reg);
	if (reg >= ZYDIS_REGISTER_ST0 && reg <= ZYDIS_REGISTER_ST7)
		return (uint8_t)(REGISTER_X87 + (reg - ZYDIS_REGISTER_ST0));
	if (general != NO_GENERAL)
		return REGISTER_GENERAL + general;
	if (whole >= ZYDIS_REGISTER_ZMM0 && whole <= ZYDIS_REGISTER_ZMM31)
		return (uint8_t)(REGISTER_VECTOR + (whole - ZYDIS_REGISTER_ZMM0));
	if (whole >= ZYDIS_REGISTER_K1 && whole <= ZYDIS_REGISTER_K7)
		return (uint8_t)(REGISTER_MASK + (whole - ZYDIS_REGISTER_K0));
	return NO_REGISTER;
}

static void add_read(struct dataflow *out, uint8_t number, uint8_t operand)
{
	if (number == NO_REGISTER || out->n_reads == MAX_READS)
		return;
	out->read_as[out->n_reads] = operand;
	out->reads[out->n_reads++] = number;
}

/* The stack pointer is moved ahead of time, in a unit of its own. */
static void add_write(struct dataflow *out, uint8_t number)
{
	if (number != NO_REGISTER && number != REGISTER_GENERAL + RSP && out->n_writes < MAX_WRITES)
		out->writes[out->n_writes++] = number;
}

static void add_memory(const ZydisDecodedOperand *operand, uint8_t as, struct dataflow *out)
{
	const ZydisDecodedOperandMem *mem = &operand->mem;
	if (mem->type == ZYDIS_MEMOP_TYPE_AGEN) { /* lea: the address is what it computes with */
		add_read(out, number_of(mem->base), as);
		add_read(out, number_of(mem->index), as);
	}
	if (mem->type != ZYDIS_MEMOP_TYPE_MEM && mem->type != ZYDIS_MEMOP_TYPE_VSIB)
		return;
	out->loads |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
	out->stores |= (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	out->memory_as = as;
	out->memory = (struct memory_place){.base = number_of(mem->base),
					    .index = number_of(mem->index),
					    .scale = mem->scale,
					    .displacement = mem->disp.value,
					    .relative = mem->base == ZYDIS_REGISTER_RIP};
}

/* What is written on some condition alone may also stay as it was. */
static void add_register(const struct full_insn *insn, const ZydisDecodedOperand *operand,
			 uint8_t as, struct dataflow *out)
{
	if (form_keeps_rest(insn, operand) ||
	    operand->actions & (ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE))
		add_read(out, number_of(operand->reg.value), as);
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		add_write(out, number_of(operand->reg.value));
}

static void add_operands(const struct full_insn *insn, struct dataflow *out)
{
	uint8_t n = 0;
	for (int i = 0; i < insn->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &insn->operands[i];
		const bool named = i < insn->insn.operand_count_visible && !form_is_mask(insn, i);
		const uint8_t as = named && n < FORM_OPERANDS ? n++ : FORM_HIDDEN;
		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) /* the stack's top */
			add_memory(operand, as, out);
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(insn, operand, as, out);
	}
	const ZydisAccessedFlags *flags = insn->insn.cpu_flags;
	if (flags && flags->tested)
		add_read(out, REGISTER_FLAGS, FORM_HIDDEN);
	if (flags && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined))
		add_write(out, REGISTER_FLAGS);
}

static void set_arithmetic(const struct work *work, struct dataflow *out)
{
	static const struct {
		enum step_kind kind;
		uint8_t latency;
	} steps[FLOP_KINDS] = {
		[FLOP_ADD] = {STEP_ADD, 3},      [FLOP_MUL] = {STEP_MULTIPLY, 3},
		[FLOP_FMA] = {STEP_FMA, 4},      [FLOP_DIV] = {STEP_DIVIDE, 10},
		[FLOP_SQRT] = {STEP_DIVIDE, 12}, [FLOP_OTHER] = {STEP_ADD, 1},
	};
	out->kind = steps[work->flop_kind].kind;
	out->latency = steps[work->flop_kind].latency;
}

static void set_latency(const struct full_insn *insn, struct dataflow *out)
{
	out->latency = 1;
	switch (insn->insn.mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		out->kind = STEP_DIVIDE;
		out->latency = 9;
		return;
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_MULX:
		out->latency = 3;
		return;
	default:
		break;
	}
	if (out->work.flop_lanes)
		set_arithmetic(&out->work, out);
	else if (insn->insn.meta.category == ZYDIS_CATEGORY_CONVERT)
		out->latency = 3;
}

/* How far the x87 stack moves: loads push; what ends with a "p", as fstp and faddp, pops. */
static int8_t x87_pushed(const struct full_insn *insn)
{
	const char *name = ZydisMnemonicGetString(insn->insn.mnemonic);
	const size_t length = strlen(name);
	if (insn->insn.meta.isa_set != ZYDIS_ISA_SET_X87 || length < 3)
		return 0;
	if (strncmp(name, "fld", 3) == 0 && strcmp(name, "fldcw") != 0)
		return 1;
	if (strcmp(name, "fild") == 0)
		return 1;
	if (strcmp(name + length - 2, "pp") == 0)
		return -2;
	return name[length - 1] == 'p' && strcmp(name, "fnop") != 0 ? -1 : 0;
}

static bool has_prefix(const char *name, const char *prefix)
{
	name += *name == 'v';
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void set_traits(const struct full_insn *insn, struct dataflow *out)
{
	const ZydisMnemonic mnemonic = insn->insn.mnemonic;
	const char *name = ZydisMnemonicGetString(mnemonic);
	out->pauses = mnemonic == ZYDIS_MNEMONIC_PAUSE || mnemonic == ZYDIS_MNEMONIC_TPAUSE ||
		      mnemonic == ZYDIS_MNEMONIC_UMWAIT;
	out->locks = (insn->insn.attributes & ZYDIS_ATTRIB_HAS_LOCK) ||
		     (mnemonic == ZYDIS_MNEMONIC_XCHG && out->stores);
	out->calls = insn->insn.meta.category == ZYDIS_CATEGORY_CALL;
	out->copies = insn->insn.meta.category == ZYDIS_CATEGORY_DATAXFER;
	out->adds = out->work.flop_lanes && out->work.flop_kind == FLOP_ADD &&
		    (has_prefix(name, "add") || has_prefix(name, "sub"));
	out->pushed = x87_pushed(insn);
}

/* The number of a general register of 64 bits; NO_GENERAL: it is another. */
static uint8_t register_64(ZydisRegister reg)
{
	return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64 ? general_register(reg)
								  : NO_GENERAL;
}

/* mov of a register; add, sub, inc and dec of a constant; lea of a register and a displacement. */
static void set_step(const struct full_insn *insn, struct dataflow *out)
{
	const ZydisMnemonic mnemonic = insn->insn.mnemonic;
	const ZydisDecodedOperand *to = &insn->operands[0], *by = &insn->operands[1];
	if (to->type != ZYDIS_OPERAND_TYPE_REGISTER || to->size != 64 ||
	    general_register(to->reg.value) == NO_GENERAL)
		return;
	out->steps = true;
	out->step_of = general_register(to->reg.value);
	if (mnemonic == ZYDIS_MNEMONIC_INC || mnemonic == ZYDIS_MNEMONIC_DEC)
		out->step = mnemonic == ZYDIS_MNEMONIC_INC ? 1 : -1;
	else if (mnemonic == ZYDIS_MNEMONIC_ADD && by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		out->step = by->imm.value.s;
	else if (mnemonic == ZYDIS_MNEMONIC_SUB && by->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		out->step = (int64_t)(0 - by->imm.value.u);
	else if (mnemonic == ZYDIS_MNEMONIC_LEA && by->mem.index == ZYDIS_REGISTER_NONE &&
		 register_64(by->mem.base) != NO_GENERAL) {
		out->step_of = register_64(by->mem.base);
		out->step = by->mem.disp.value;
	} else if (mnemonic == ZYDIS_MNEMONIC_MOV && by->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		   register_64(by->reg.value) != NO_GENERAL)
		out->step_of = register_64(by->reg.value);
	else
		out->steps = false;
}

bool dataflow_of_bytes(const uint8_t *bytes, size_t size, struct dataflow *out)
{
	struct full_insn insn;
	*out = (struct dataflow){.memory = {NO_REGISTER, NO_REGISTER, 0, 0, false}};
	if (!decode_full(bytes, size, &insn))
		return false;
	work_of_decoded(&insn.insn, insn.operands, &out->work);
	add_operands(&insn, out);
	set_latency(&insn, out);
	set_traits(&insn, out);
	form_parts_of(&insn, &out->parts);
	set_step(&insn, out);
	if (form_zeroes(&insn))
		out->n_reads = 0;
	if (out->copies)
		out->latency = 0;
	return true;
}
