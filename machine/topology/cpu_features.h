/* Which instruction sets this CPU has and the operating system saves (XCR0). */
#pragma once

#include <stdbool.h>

/* Bits of a kernel's needs; 0 is what every x86-64 has (x87 and SSE2). */
enum cpu_feature {
	CPU_BASE = 0,
	CPU_SSE4_1 = 1 << 0,
	CPU_AVX = 1 << 1,
	CPU_FMA = 1 << 2,
	CPU_AVX2 = 1 << 3,
	CPU_AVX_VNNI = 1 << 4,
	CPU_AVX512F = 1 << 5,
	CPU_AVX512DQ = 1 << 6,
	CPU_AVX512BW = 1 << 7,
	CPU_AVX512VL = 1 << 8,
	CPU_AVX512_VNNI = 1 << 9,
	CPU_AVX512_BF16 = 1 << 10,
	CPU_AVX512_FP16 = 1 << 11,
	CPU_AMX_TILE = 1 << 12,
	CPU_AMX_INT8 = 1 << 13,
	CPU_AMX_BF16 = 1 << 14,
	CPU_SSE4_2 = 1 << 15,
	CPU_POPCNT = 1 << 16,
	CPU_LZCNT = 1 << 17,
	CPU_BMI1 = 1 << 18,
	CPU_BMI2 = 1 << 19,
	CPU_F16C = 1 << 20,
};

/* True when every bit of `needs` is there and this process may use it.  A kernel must not be called
 * before this was asked.
 *
 * The first question for an AMX bit asks Linux for the permission to use tiles. */
bool cpu_has(unsigned needs);
