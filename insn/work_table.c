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

/* Categories that are not listed are INSN_OTHER.  Those of vector extensions hold what has no
 * integer row and no flop: shuffles, inserts, blends, conversions, compares. */
static const uint8_t category_classes[ZYDIS_CATEGORY_MAX_VALUE + 1] = {
	[ZYDIS_CATEGORY_DATAXFER] = INSN_MOVE,
	[ZYDIS_CATEGORY_PUSH] = INSN_MOVE,
	[ZYDIS_CATEGORY_POP] = INSN_MOVE,
	[ZYDIS_CATEGORY_CMOV] = INSN_MOVE,
	[ZYDIS_CATEGORY_SETCC] = INSN_MOVE,
	[ZYDIS_CATEGORY_MOVDIR] = INSN_MOVE,
	[ZYDIS_CATEGORY_AMX_TILE] = INSN_MOVE,

	[ZYDIS_CATEGORY_BINARY] = INSN_INTEGER,
	[ZYDIS_CATEGORY_BITBYTE] = INSN_INTEGER,
	[ZYDIS_CATEGORY_LOGICAL] = INSN_INTEGER,
	[ZYDIS_CATEGORY_SHIFT] = INSN_INTEGER,
	[ZYDIS_CATEGORY_ROTATE] = INSN_INTEGER,
	[ZYDIS_CATEGORY_DECIMAL] = INSN_INTEGER,
	[ZYDIS_CATEGORY_FLAGOP] = INSN_INTEGER,
	[ZYDIS_CATEGORY_BMI1] = INSN_INTEGER,
	[ZYDIS_CATEGORY_BMI2] = INSN_INTEGER,
	[ZYDIS_CATEGORY_TBM] = INSN_INTEGER,
	[ZYDIS_CATEGORY_LZCNT] = INSN_INTEGER,
	[ZYDIS_CATEGORY_ADOX_ADCX] = INSN_INTEGER,
	[ZYDIS_CATEGORY_SEMAPHORE] = INSN_INTEGER,
	[ZYDIS_CATEGORY_KMASK] = INSN_INTEGER,
	[ZYDIS_CATEGORY_AES] = INSN_INTEGER,
	[ZYDIS_CATEGORY_VAES] = INSN_INTEGER,
	[ZYDIS_CATEGORY_SHA] = INSN_INTEGER,
	[ZYDIS_CATEGORY_PCLMULQDQ] = INSN_INTEGER,
	[ZYDIS_CATEGORY_VPCLMULQDQ] = INSN_INTEGER,

	[ZYDIS_CATEGORY_SSE] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_MMX] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AMD3DNOW] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AVX] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AVX2] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AVX512] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AVX512_BITALG] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_AVX512_VBMI] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_VBMI2] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_FP16] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_XOP] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_BLEND] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_CONVERT] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_LOGICAL_FP] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_X87_ALU] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_FCMOV] = INSN_FP_MOVE,
	[ZYDIS_CATEGORY_BROADCAST] = INSN_MOVE,
	[ZYDIS_CATEGORY_COMPRESS] = INSN_MOVE,
	[ZYDIS_CATEGORY_EXPAND] = INSN_MOVE,
	[ZYDIS_CATEGORY_GATHER] = INSN_MOVE,
	[ZYDIS_CATEGORY_AVX2GATHER] = INSN_MOVE,
	[ZYDIS_CATEGORY_SCATTER] = INSN_MOVE,

	[ZYDIS_CATEGORY_COND_BR] = INSN_BRANCH,
	[ZYDIS_CATEGORY_UNCOND_BR] = INSN_BRANCH,
	[ZYDIS_CATEGORY_CALL] = INSN_CALL,
	[ZYDIS_CATEGORY_RET] = INSN_RETURN,
	[ZYDIS_CATEGORY_STRINGOP] = INSN_STRING,
	[ZYDIS_CATEGORY_IOSTRINGOP] = INSN_STRING,
	[ZYDIS_CATEGORY_NOP] = INSN_NOP,
	[ZYDIS_CATEGORY_WIDENOP] = INSN_NOP,

	[ZYDIS_CATEGORY_SYSTEM] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_SYSCALL] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_SYSRET] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_INTERRUPT] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_IO] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_SEGOP] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_VTX] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_SGX] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_SMAP] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_PKU] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_RDWRFSGS] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_XSAVE] = INSN_SYSTEM,
	[ZYDIS_CATEGORY_XSAVEOPT] = INSN_SYSTEM,
};

enum insn_class work_class_of_category(unsigned int category)
{
	return category <= ZYDIS_CATEGORY_MAX_VALUE ? category_classes[category] : INSN_OTHER;
}
