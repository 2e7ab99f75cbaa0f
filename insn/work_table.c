/* The rows of work_table.def as an array indexed by mnemonic, and the classes of categories. */
#include "insn/work_table.h"

#include <Zydis/Zydis.h>

#define RULE(mnemonic, ...) [ZYDIS_MNEMONIC_##mnemonic] = {true, {false, __VA_ARGS__}},
#define NOWORK_FLOP WORK_NO_FLOP, 0, 0
#define NOWORK_INTOP WORK_NO_INTOP, 0
#define ANY_CLASS WORK_CLASS_BY_CATEGORY

/* Bits of an element by flop precision suffix. */
#define BITS_HALF 16
#define BITS_SINGLE 32
#define BITS_DOUBLE 64
#define BITS_X87 0

/* Floating point: packed and scalar, `n` flop a lane. */
#define PACKED(mnemonic, kind, precision, n)                                                  \
	RULE(mnemonic, FLOP_##kind, PRECISION_##precision, n, NOWORK_INTOP, BITS_##precision, \
	     SHAPE_PACKED, MEMORY_OPERAND, INSN_FP_ARITH)
#define SCALAR(mnemonic, kind, precision, n)                                                  \
	RULE(mnemonic, FLOP_##kind, PRECISION_##precision, n, NOWORK_INTOP, BITS_##precision, \
	     SHAPE_SCALAR, MEMORY_OPERAND, INSN_FP_ARITH)
/* The same with lanes wider than the precision, another shape or another memory access. */
#define FLOP_AS(mnemonic, kind, precision, n, bits, shape, memory)                               \
	RULE(mnemonic, FLOP_##kind, PRECISION_##precision, n, NOWORK_INTOP, bits, SHAPE_##shape, \
	     MEMORY_##memory, INSN_FP_ARITH)

/* Integer: vectors of `bits` wide lanes, and general (or mask) registers. */
#define VECTOR(mnemonic, kind, bits, n)                                                  \
	RULE(mnemonic, NOWORK_FLOP, INTOP_##kind, n, bits, SHAPE_PACKED, MEMORY_OPERAND, \
	     INSN_INTEGER)
#define VECTOR_WHOLE(mnemonic, kind, bits, n) \
	RULE(mnemonic, NOWORK_FLOP, INTOP_##kind, n, bits, SHAPE_PACKED, MEMORY_WHOLE, INSN_INTEGER)
#define GENERAL(mnemonic, kind) \
	RULE(mnemonic, NOWORK_FLOP, INTOP_##kind, 1, 0, SHAPE_SCALAR, MEMORY_OPERAND, INSN_INTEGER)

/* No work: only a memory rule, only a class. */
#define MEMORY(mnemonic, kind, bits) \
	RULE(mnemonic, NOWORK_FLOP, NOWORK_INTOP, bits, SHAPE_PACKED, MEMORY_##kind, ANY_CLASS)
#define MOVE_AS(mnemonic, kind, bits) \
	RULE(mnemonic, NOWORK_FLOP, NOWORK_INTOP, bits, SHAPE_PACKED, MEMORY_##kind, INSN_MOVE)
/* The same, and the stores bypass the caches. */
#define STREAM(mnemonic, kind, bits, class_)                                                 \
	[ZYDIS_MNEMONIC_##mnemonic] = {true,                                                 \
				       {true, NOWORK_FLOP, NOWORK_INTOP, bits, SHAPE_PACKED, \
					MEMORY_##kind, class_}},
#define CLASS(mnemonic, class_) \
	RULE(mnemonic, NOWORK_FLOP, NOWORK_INTOP, 0, SHAPE_PACKED, MEMORY_OPERAND, INSN_##class_)

static const struct {
	bool is_set;
	struct work_rule rule;
} rules[ZYDIS_MNEMONIC_MAX_VALUE + 1] = {
#include "insn/work_table.def"
};

static const struct work_rule no_work = {false,        NOWORK_FLOP,    NOWORK_INTOP, 0,
					 SHAPE_PACKED, MEMORY_OPERAND, ANY_CLASS};

const struct work_rule *work_rule_of(unsigned int mnemonic)
{
	if (mnemonic > ZYDIS_MNEMONIC_MAX_VALUE || !rules[mnemonic].is_set)
		return &no_work;
	return &rules[mnemonic].rule;
}

#define CATEGORY(category, class_) [ZYDIS_CATEGORY_##category] = INSN_##class_,

static const uint8_t category_classes[ZYDIS_CATEGORY_MAX_VALUE + 1] = {
#include "insn/category_classes.def"
};

enum insn_class work_class_of_category(unsigned int category)
{
	return category <= ZYDIS_CATEGORY_MAX_VALUE ? category_classes[category] : INSN_OTHER;
}
