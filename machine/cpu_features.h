/* Which instruction sets this CPU has and the operating system saves (XCR0). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bits of a kernel's needs; 0 is what every x86-64 has (x87 and SSE2). */
enum cpu_feature {
	CPU_BASE = 0,
	CPU_AVX = 1 << 0,
	CPU_FMA = 1 << 1,
	CPU_AVX512F = 1 << 2,
};

/* True when every bit of `needs` is there.  A kernel must not be called before this was asked. */
bool cpu_has(unsigned needs);

/* Bytes of one register of a width class: "avx512f" 64, "avx2" 32, "sse2" 16; "scalar" and "x87"
 * 0, because there a register holds one element of any type. */
size_t isa_vector_bytes(const char *isa);
