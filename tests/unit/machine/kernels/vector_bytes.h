/* The truth about vector registers, apart from the tables under test. */
#pragma once

#include "machine/data/roof_terms.h"

#include <stddef.h>

/* Bytes of one vector register of a width class; 0 where a register holds one element of any type
 * (scalar, x87), and for amx. */
static inline size_t vector_bytes(enum roof_isa isa)
{
	return isa == ROOF_ISA_AVX512F ? 64
	       : isa == ROOF_ISA_AVX2  ? 32
	       : isa == ROOF_ISA_SSE2  ? 16
				       : 0;
}
