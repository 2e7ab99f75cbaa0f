/* What an instruction reads and writes in memory, and what it does to registers that form
 * addresses. */
#pragma once

#include "insn/decode.h"

#include <stdbool.h>
#include <stdint.h>

enum operand_access {
	OPERAND_LOAD = 1,
	OPERAND_STORE = 2,
	OPERAND_NON_TEMPORAL = 4, /* a store past the caches */
	OPERAND_FLUSH = 8,        /* clflush, clflushopt */
	OPERAND_CLEAN = 16,       /* clwb */
	OPERAND_LINE_ZERO = 32,   /* clzero */
};

enum operand_form {
	OPERAND_PLAIN,  /* `bytes` from the address on */
	OPERAND_MASKED, /* of `lanes` of `bytes` each those whose bit of a mask is set */
	OPERAND_PACKED, /* of `lanes` of `bytes` each as many as bits are set, one after another */
	OPERAND_STRING, /* `bytes` rcx times, upward or downward */
	OPERAND_GATHER, /* `lanes` of `bytes` each, at addresses by an index vector and a mask */
	OPERAND_UNTRACED, /* its addresses cannot be had */
};

#define NO_BASE 0xff

struct operand {
	uint8_t form, access;       /* enum operand_form; bits of enum operand_access */
	uint8_t base, index, scale; /* general registers by number, or NO_BASE */
	bool fs;                    /* relative to the FS segment */
	bool rip_relative;          /* moves with the instruction */
	bool aligned;               /* one that is not aligned to its size faults */
	int64_t displacement;       /* without base, index and fs: the address */
	uint16_t bytes;
	uint8_t lanes;
	uint8_t mask;       /* number of the register with the mask */
	uint8_t mask_bits;  /* 0: it is a k-register; else a vector's elements have so many bits */
	uint8_t mask_shift; /* the low bits that are not its own */
	uint8_t vector;     /* OPERAND_GATHER: number of the index vector; the scale is above */
	uint8_t index_bits; /* of its elements */
};

#define MAX_OPERANDS 4

struct operands {
	struct operand items[MAX_OPERANDS];
	unsigned n;
	uint16_t written;    /* general registers that hold something else behind it */
	uint8_t moved, from; /* moved = from + by, for whole registers; or NO_BASE */
	int64_t by;          /* `moved` is not in `written` */
};

/* Operands in the order in which they are accessed.  Prefetches have none. */
void operands_of(const struct decoded *insn, struct operands *out);
