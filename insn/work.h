/* What one x86-64 instruction does: floating-point and integer operations, bytes moved between
 * registers and L1 (LS bytes), and its class.  Definitions: docs/work.md.
 *
 * Work that is known from the instruction alone is "fixed".  Work that depends on run-time state
 * (a repeat count, a mask, a tile shape) is given per "unit"; the counted run counts the units of
 * each such instruction (see enum work_units), and the report multiplies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flop_kind { FLOP_ADD, FLOP_MUL, FLOP_FMA, FLOP_DIV, FLOP_SQRT, FLOP_OTHER, FLOP_KINDS };
enum flop_precision {
	PRECISION_HALF,
	PRECISION_BFLOAT16,
	PRECISION_SINGLE,
	PRECISION_DOUBLE,
	PRECISION_X87,
	FLOP_PRECISIONS
};
enum flop_width { WIDTH_SCALAR, WIDTH_128, WIDTH_256, WIDTH_512, WIDTH_TILE, FLOP_WIDTHS };
enum intop_kind {
	INTOP_ADD,
	INTOP_SUB,
	INTOP_MUL,
	INTOP_LOGIC,
	INTOP_SHIFT,
	INTOP_COMPARE,
	INTOP_DOT /* VNNI, AMX INT8: 2 per product */,
	INTOP_KINDS
};

/* Coarse classes, for instruction mixes. */
enum insn_class {
	INSN_OTHER,
	INSN_MOVE,
	INSN_INTEGER,
	INSN_FP_ARITH,
	INSN_FP_MOVE /* shuffles,
conversions, FP logic and compares */
	,
	INSN_BRANCH,
	INSN_CALL,
	INSN_RETURN,
	INSN_STRING,
	INSN_NOP,
	INSN_SYSTEM,
	INSN_CLASSES
};

/* What the counted run must count, in addition to executions, each time before the instruction
 * runs (for UNITS_REP: how far rcx went down while it ran). */
enum work_units {
	UNITS_NONE,
	UNITS_REP,   /* iterations of a rep/repe/repne string instruction */
	UNITS_KMASK, /* set bits among the low `lanes` bits of mask register k`unit_reg` */
	UNITS_VMASK, /* set sign bits among the `lanes` elements of `unit_element_bits` bits of
		      * vector register number `unit_reg` (AVX2 gathers, vmaskmov, vpmaskmov,
		      * maskmovdqu, maskmovq: for the last two elements are bytes) */
	UNITS_TILE,  /* AMX dot product: rows(dst) * colsb(dst)/4 * colsb(src1)/4; tile load and
		      * store: rows * colsb */
};

struct work {
	uint8_t length;         /* bytes of the instruction */
	uint8_t insn_class;     /* enum insn_class */
	bool is_load, is_store; /* has an explicit or implicit memory read / write */
	bool non_temporal;      /* its stores bypass the caches; hints on loads do not count */

	/* Flop of one execution, all lanes taken as active: `flop_lanes` lanes times
	 * `flop_per_lane` (FMA 2).  0 lanes: no flop.  With masked = true only `units` lanes are
	 * active and the true flop are units * flop_per_lane. */
	uint8_t flop_kind, flop_precision, flop_width;
	uint16_t flop_lanes, flop_per_lane;

	/* Integer operations likewise. */
	uint8_t intop_kind, intop_width; /* enum flop_width; scalar for general registers */
	uint16_t intop_lanes, intop_per_lane;
	bool intop_address; /* lea: address arithmetic or loop control, kept apart */

	uint32_t load_bytes, store_bytes;           /* fixed, each execution */
	uint32_t unit_load_bytes, unit_store_bytes; /* per unit */

	bool masked;               /* flop and intop counts are per active lane (unit) */
	uint8_t units;             /* enum work_units */
	uint8_t unit_reg;          /* see enum work_units; UNITS_TILE: tile dst */
	uint8_t unit_reg2;         /* UNITS_TILE: src1 */
	uint8_t lanes;             /* number of lanes that the mask governs */
	uint8_t unit_element_bits; /* UNITS_VMASK: 8, 32 or 64 */
};

/* Reads the work of the instruction at `bytes` (at most `size` bytes are read).  Returns false
 * when it cannot be decoded; *work is then zero except for length = 0.
 * Source of the flop rules: Intel SDM vol. 3 FP_ARITH_INST_RETIRED (FMA counts 2), MODEL. */
bool work_of_bytes(const uint8_t *bytes, size_t size, struct work *work);

struct ZydisDecodedInstruction_;
struct ZydisDecodedOperand_;
/* The same for an instruction that is already decoded with all its operands. */
void work_of_decoded(const struct ZydisDecodedInstruction_ *insn,
		     const struct ZydisDecodedOperand_ *operands, struct work *work);
