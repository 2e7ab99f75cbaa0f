/* FP Crunch with FMA: 2 flop per lane and instruction, no memory but the return address. */
#pragma once

#include "truth.h"

enum { N = 50000 };

/* rdi = n; four chains of x ← x·0 + x in registers `r`0 … `r`3, with `r`4 = 0. */
#define CRUNCH_FMA(name, fma, r)                                                                   \
	KERNEL(name,                                                                               \
			vzeroall;                                                                  \
		1:	fma r##0, r##4, r##4;                                                      \
			fma r##1, r##4, r##4;                                                      \
			fma r##2, r##4, r##4;                                                      \
			fma r##3, r##4, r##4;                                                      \
			sub rdi, 1;                                                                \
			jne 1b;                                                                    \
			vzeroupper;                                                                \
			ret);                                                                      \
	void name(uint64_t n)

static void crunch_fma(const char *name, void kernel(uint64_t), int lanes, const char *kind)
{
	kernel(N);
	TRUTH(name, .instructions = 1 + 6 * N + 2, .load_bytes = 8, .store_bytes = 0,
	      KINDS({ kind, UINT64_C(4) * 2 * lanes * N }));
}
