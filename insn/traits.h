/* What is true of an instruction by its mnemonic alone, beside its work (work_table.h). */
#pragma once

#include <stdint.h>

enum trait {
	/* Writes all status flags but possibly CF, whatever the operands: no shifts (a count of 0
	 * writes none), nothing that leaves a flag as it was.  Flags that the manual calls
	 * undefined after and, or, xor, test (AF) do not depend on their old value. */
	TRAIT_KILLS = 1 << 0,
	TRAIT_KEEPS_CARRY = 1 << 1, /* inc, dec: does not write CF with them */
	TRAIT_STEP = TRAIT_KILLS | TRAIT_KEEPS_CARRY,
	TRAIT_READS = 1 << 2,    /* status flags, which Zydis does not say */
	TRAIT_RESTORES = 1 << 3, /* them, to what they held before */
	TRAIT_GS = 1 << 4,       /* shows or changes the GS segment */
	TRAIT_FAR = 1 << 5,      /* a far transfer of control */
	TRAIT_LANES = 1 << 6,    /* a vector says which lanes of memory are accessed */
	/* Its access must be aligned: it is one of one line only (Intel SDM vol. 1, 10.4.1.1 and
	 * 14.9). */
	TRAIT_ALIGNED = 1 << 7,
	TRAIT_BITS = 1 << 8,      /* of a string of bits, far from the operand's address perhaps */
	TRAIT_PACKED = 1 << 9,    /* active lanes lie one after another in memory */
	TRAIT_INDEX_32 = 1 << 10, /* gather, scatter: indexes of 32 bits */
	TRAIT_ADDRESS = 1 << 11,  /* address arithmetic or loop control */
};

/* Bits of enum trait for a ZydisMnemonic. */
unsigned traits_of(unsigned mnemonic);
