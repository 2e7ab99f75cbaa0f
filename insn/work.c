/* The work of one instruction: a look-up by mnemonic (work_table.def), then a walk over its
 * operands for the bytes it loads and stores. */
#include "insn/work.h"

#include "insn/decoder.h"
#include "insn/traits.h"
#include "insn/work_table.h"

/* AMX palette 1: 8 tiles of at most 16 rows of 64 bytes, so 16 x 16 x 16 dword products. */
#define TILE_MAX_UNITS (16 * 16 * 16)

#define REP_PREFIXES (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)

static bool is_vector_encoding(const ZydisDecodedInstruction *insn)
{
	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
	       insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	       insn->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP;
}

/* A real write mask: an EVEX instruction with k1 to k7. */
static bool is_masked(const ZydisDecodedInstruction *insn)
{
	return insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
	       insn->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED &&
	       insn->avx.mask.reg > ZYDIS_REGISTER_K0 && insn->avx.mask.reg <= ZYDIS_REGISTER_K7;
}

static bool is_mmx(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	for (int i = 0; i < insn->operand_count_visible; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ZydisRegisterGetClass(operands[i].reg.value) == ZYDIS_REGCLASS_XMM)
			return false;
	return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(operands[0].reg.value) == ZYDIS_REGCLASS_MMX;
}

static uint16_t vector_bits(const ZydisDecodedInstruction *insn,
			    const ZydisDecodedOperand *operands)
{
	if (is_vector_encoding(insn))
		return insn->avx.vector_length;
	return is_mmx(insn, operands) ? 64 : 128;
}

/* MMX has 64 bits but no width of its own: it goes with 128. */
static enum flop_width width_of_bits(uint16_t bits)
{
	return bits == 512 ? WIDTH_512 : bits == 256 ? WIDTH_256 : WIDTH_128;
}

/* DPPS, DPPD: immediate bits 4 and up say which products are made, in each 128 bits. */
static uint16_t dot_lanes(const ZydisDecodedInstruction *insn, uint8_t element_bits, uint16_t bits)
{
	unsigned int per_128 = 128 / element_bits;
	unsigned int products = insn->raw.imm[0].value.u >> 4 & ((1U << per_128) - 1);
	return __builtin_popcount(products) * (bits / 128);
}

struct shape {
	uint16_t lanes;
	enum flop_width width;
};

static struct shape shape_of(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *operands)
{
	if (rule->shape == SHAPE_SCALAR)
		return (struct shape){1, WIDTH_SCALAR};
	if (rule->shape == SHAPE_TILE)
		return (struct shape){TILE_MAX_UNITS, WIDTH_TILE};
	uint16_t bits = vector_bits(insn, operands);
	enum flop_width width = width_of_bits(bits);
	if (rule->shape == SHAPE_DOT)
		return (struct shape){dot_lanes(insn, rule->element_bits, bits), width};
	return (struct shape){bits / rule->element_bits, width};
}

static void set_mask_units(const ZydisDecodedInstruction *insn, uint16_t lanes, struct work *work)
{
	work->units = UNITS_KMASK;
	work->unit_reg = ZydisRegisterGetId(insn->avx.mask.reg);
	work->lanes = lanes;
}

static void set_tile_units(const ZydisDecodedOperand *operands, struct work *work)
{
	work->masked = true;
	work->units = UNITS_TILE;
	work->unit_reg = ZydisRegisterGetId(operands[0].reg.value);
	work->unit_reg2 = ZydisRegisterGetId(operands[1].reg.value);
}

/* Address arithmetic and loop control, where the instruction alone tells: lea, loop, and
 * arithmetic on the stack pointer. */
static bool is_address_arithmetic(const ZydisDecodedInstruction *insn,
				  const ZydisDecodedOperand *operands)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_ADD || insn->mnemonic == ZYDIS_MNEMONIC_SUB ||
	    insn->mnemonic == ZYDIS_MNEMONIC_AND)
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       (operands[0].reg.value == ZYDIS_REGISTER_RSP ||
			operands[0].reg.value == ZYDIS_REGISTER_ESP);
	return traits_of(insn->mnemonic) & TRAIT_ADDRESS;
}

static void set_operations(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
			   const ZydisDecodedOperand *operands, struct work *work)
{
	bool has_flop = rule->flop_kind != WORK_NO_FLOP;
	bool has_intop = rule->intop_kind != WORK_NO_INTOP;
	if (!has_flop && !has_intop)
		return;
	struct shape shape = shape_of(rule, insn, operands);
	if (has_flop) {
		work->flop_kind = rule->flop_kind;
		work->flop_precision = rule->flop_precision;
		work->flop_width = shape.width;
		work->flop_lanes = shape.lanes;
		work->flop_per_lane = rule->flop_per_lane;
	} else {
		work->intop_kind = rule->intop_kind;
		work->intop_width = shape.width;
		work->intop_lanes = shape.lanes;
		work->intop_per_lane = rule->intop_per_lane;
		work->intop_address = is_address_arithmetic(insn, operands);
	}
	if (rule->shape == SHAPE_TILE) {
		set_tile_units(operands, work);
	} else if (is_masked(insn)) {
		work->masked = true;
		set_mask_units(insn, shape.lanes, work);
	}
}

/* Exception classes "NF" (no fault suppression): the memory operand is read whole whatever the
 * mask says, since its elements do not go to lanes one by one [SDM vol. 2, 2.8]. */
static bool is_read_whole(const struct work_rule *rule, const ZydisDecodedInstruction *insn)
{
#define NF(name) (1ull << ZYDIS_EXCEPTION_CLASS_##name##NF)
	const uint64_t classes =
		NF(E1) | NF(E2) | NF(E3) | NF(E4) | NF(E5) | NF(E6) | NF(E9) | NF(E10) | NF(E11);
#undef NF
	_Static_assert(ZYDIS_EXCEPTION_CLASS_MAX_VALUE < 64, "a class is a bit");
	return rule->memory == MEMORY_WHOLE ||
	       insn->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID ||
	       classes >> insn->meta.exception_class & 1;
}

/* Adds one access of the operand's width, or of one element for each unit. */
static void add_access(const ZydisDecodedOperand *operand, bool per_unit, uint32_t unit_bytes,
		       struct work *work)
{
	uint32_t bytes = per_unit ? unit_bytes : operand->size / 8;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
		work->is_load = true;
		*(per_unit ? &work->unit_load_bytes : &work->load_bytes) += bytes;
	}
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		work->is_store = true;
		*(per_unit ? &work->unit_store_bytes : &work->store_bytes) += bytes;
	}
}

static void operand_access(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
			   const ZydisDecodedOperand *operand, struct work *work)
{
	bool is_store = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	if (!is_masked(insn) || (!is_store && is_read_whole(rule, insn))) {
		add_access(operand, false, 0, work);
		return;
	}
	/* The elements of the memory operand are the lanes that the mask governs. */
	add_access(operand, true, operand->element_size / 8, work);
	set_mask_units(insn, operand->element_count, work);
}

static void string_access(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand,
			  struct work *work)
{
	bool is_repeated = insn->attributes & REP_PREFIXES;
	add_access(operand, is_repeated, operand->size / 8, work);
	if (!is_repeated)
		return;
	work->masked = work->intop_lanes > 0;
	work->units = UNITS_REP;
	work->lanes = 1;
}

/* Sign bits of the elements of register operand `mask` select the lanes. */
static void vector_mask_access(const ZydisDecodedOperand *operand, const ZydisDecodedOperand *mask,
			       uint16_t lanes, uint8_t element_bits, struct work *work)
{
	add_access(operand, true, element_bits / 8, work);
	work->units = UNITS_VMASK;
	work->unit_reg = ZydisRegisterGetId(mask->reg.value);
	work->lanes = lanes;
	work->unit_element_bits = element_bits;
}

/* Zydis gives the memory operand of a gather or scatter the size of one element. */
static void gather_access(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
			  const ZydisDecodedOperand *operands, const ZydisDecodedOperand *operand,
			  struct work *work)
{
	uint16_t lanes = insn->avx.vector_length / rule->element_bits;
	if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		vector_mask_access(operand, &operands[2], lanes, operand->size, work);
		return;
	}
	add_access(operand, true, operand->size / 8, work);
	set_mask_units(insn, lanes, work);
}

/* enter: the frame pointer is pushed; with a nesting level, level - 1 older frame pointers are
 * copied and the new one is pushed [SDM vol. 2, ENTER]. */
static void enter_access(const ZydisDecodedInstruction *insn, struct work *work)
{
	uint32_t level = insn->raw.imm[1].value.u & 31;
	work->store_bytes = 8 * (1 + level);
	work->load_bytes = level > 1 ? 8 * (level - 1) : 0;
	work->is_store = true;
	work->is_load = work->load_bytes > 0;
}

static void memory_access(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
			  const ZydisDecodedOperand *operands, const ZydisDecodedOperand *operand,
			  struct work *work)
{
	switch (rule->memory) {
	case MEMORY_OPERAND:
	case MEMORY_WHOLE:
	case MEMORY_LINE_STORE:
		operand_access(rule, insn, operand, work);
		return;
	case MEMORY_STRING:
		string_access(insn, operand, work);
		return;
	case MEMORY_GATHER:
		gather_access(rule, insn, operands, operand, work);
		return;
	case MEMORY_VMASK:
		vector_mask_access(operand, &operands[1],
				   vector_bits(insn, operands) / rule->element_bits,
				   rule->element_bits, work);
		return;
	case MEMORY_TILE:
		add_access(operand, true, 1, work);
		work->units = UNITS_TILE;
		for (int i = 0; i < 2; i++)
			if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
				work->unit_reg = ZydisRegisterGetId(operands[i].reg.value);
		return;
	case MEMORY_UNSIZED:
		work->is_load |= !!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		work->is_store |= !!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
		return;
	default:
		return;
	}
}

static void set_memory(const struct work_rule *rule, const ZydisDecodedInstruction *insn,
		       const ZydisDecodedOperand *operands, struct work *work)
{
	if (rule->memory == MEMORY_NONE)
		return;
	if (rule->memory == MEMORY_ENTER) {
		enter_access(insn, work);
		return;
	}
	if (rule->memory == MEMORY_LINE_STORE) {
		work->is_store = true;
		work->store_bytes = 64; /* [APM vol. 3, CLZERO], [SDM vol. 2, ENQCMD] */
	}
	for (int i = 0; i < insn->operand_count; i++)
		if (operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operands[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN)
			memory_access(rule, insn, operands, &operands[i], work);
}

/* The string forms of movsd and cmpsd share mnemonics with SSE2. */
static const struct work_rule *rule_of_insn(const ZydisDecodedInstruction *insn)
{
	const struct work_rule *rule = work_rule_of(insn->mnemonic);
	if (rule->memory == MEMORY_STRING && insn->meta.category != ZYDIS_CATEGORY_STRINGOP &&
	    insn->meta.category != ZYDIS_CATEGORY_IOSTRINGOP)
		return work_rule_of(ZYDIS_MNEMONIC_INVALID);
	return rule;
}

void work_of_decoded(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
		     struct work *work)
{
	const struct work_rule *rule = rule_of_insn(insn);
	*work = (struct work){.length = insn->length};
	work->insn_class = rule->insn_class != WORK_CLASS_BY_CATEGORY
				   ? rule->insn_class
				   : work_class_of_category(insn->meta.category);
	set_operations(rule, insn, operands, work);
	set_memory(rule, insn, operands, work);
	work->non_temporal = rule->non_temporal;
}

bool work_of_bytes(const uint8_t *bytes, size_t size, struct work *work)
{
	struct full_insn full;
	*work = (struct work){0};
	if (!decode_full(bytes, size, &full))
		return false;
	work_of_decoded(&full.insn, full.operands, work);
	return true;
}
