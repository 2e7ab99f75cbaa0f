/* The work tables: one rule per mnemonic, indexed by ZydisMnemonic.  Internal to work.c and its
 * tests.  The rows and their sources are in work_table.def; docs/work.md explains the rules. */
#pragma once

#include "insn/work.h"

#include <stdint.h>

#define WORK_NO_FLOP FLOP_KINDS             /* rule->flop_kind of an instruction without flop */
#define WORK_NO_INTOP INTOP_KINDS           /* rule->intop_kind of one without integer work */
#define WORK_CLASS_BY_CATEGORY INSN_CLASSES /* rule->insn_class: take it from Zydis' category */

/* How many lanes an instruction works on. */
enum work_shape {
	SHAPE_PACKED, /* vector length / element_bits */
	SHAPE_SCALAR, /* one */
	SHAPE_DOT,    /* dpps, dppd: as many as bits are set in the product half of the immediate,
		       * in each 128 bits */
	SHAPE_TILE,   /* AMX: at most 16 x 16 x 16 */
};

/* How its memory operands are accessed. */
enum work_memory {
	MEMORY_OPERAND, /* as Zydis gives size and action; with an AVX-512 mask, active lanes only
			 */
	MEMORY_WHOLE,   /* the same, but a mask does not keep lanes from being read */
	MEMORY_NONE,    /* an address that is never accessed (prefetch, nop, ...) */
	MEMORY_UNSIZED, /* accessed, but how far depends on XCR0 and so on: 0 bytes */
	MEMORY_STRING,  /* once, or once per iteration of a rep prefix */
	MEMORY_GATHER,  /* one element per active lane */
	MEMORY_VMASK,   /* one element per lane whose sign bit is set in a vector register */
	MEMORY_TILE,    /* AMX tile load and store: rows * colsb bytes */
	MEMORY_ENTER,   /* enter: by nesting level */
	MEMORY_LINE_STORE, /* as Zydis gives it, and a 64-byte store that it has no operand for */
};

struct work_rule {
	bool non_temporal; /* its stores bypass the caches */
	uint8_t flop_kind, flop_precision, flop_per_lane;
	uint8_t intop_kind, intop_per_lane;
	uint8_t element_bits; /* of a lane as the mask register sees it; 0: not a vector */
	uint8_t shape;        /* enum work_shape */
	uint8_t memory;       /* enum work_memory */
	uint8_t insn_class;   /* enum insn_class or WORK_CLASS_BY_CATEGORY */
};

/* The rule of a ZydisMnemonic; one without work for those that have no row. */
const struct work_rule *work_rule_of(unsigned int mnemonic);

/* The class of a ZydisInstructionCategory. */
enum insn_class work_class_of_category(unsigned int category);
