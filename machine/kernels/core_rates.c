/* Loops of one kind of instruction each, beside chains whose cycles are known. */
#include "machine/kernels/core_rates.h"

#include "machine/kernels/clock_kernels.h"

#include <math.h>
#include <stdint.h>
#include <x86intrin.h>

#define IN_TURN 240     /* so many that the branch back does not count */
#define BITS 64         /* of a random number, by each of which one branch goes */
#define CHAIN 48        /* turns of clock_adds */
#define ABOUT_SAME 1.02 /* both chains of a look */

/* Turns of IN_TURN instructions, or of BITS branches, in about 12,000 cycles. */
static const uint64_t turns_of[CORE_RATES] = {
	[CORE_RATE_SLOTS] = 300, [CORE_RATE_INTEGER] = 250, [CORE_RATE_VECTOR] = 100,
	[CORE_RATE_LOADS] = 150, [CORE_RATE_STORES] = 100,  [CORE_RATE_BRANCHES] = 14,
};

/* `body`: IN_TURN instructions, and what makes numbers of what is in vector registers. */
#define TURNS(body)                                                                              \
	__asm__ volatile(".p2align 6\n1:\n\t" body "\n\tdec %[turns]\n\tjnz 1b"                  \
			 : [turns] "+r"(turns)                                                   \
			 : [at] "r"(at)                                                          \
			 : "cc", "memory", "rax", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", \
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm9")

/* Each way of the branch is as long. */
static void guess(uint64_t turns)
{
	static uint64_t state = 1; /* goes on: no predictor has seen what comes */
	uint64_t count = 0;
	for (uint64_t i = 0; i < turns; i++) {
		uint64_t left = BITS,
			 bits = state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		__asm__ volatile("1:\n\t"
				 "add %[bits], %[bits]\n\t"
				 "jc 2f\n\t"
				 "inc %[count]\n"
				 "2:\n\t"
				 "dec %[left]\n\t"
				 "jnz 1b"
				 : [bits] "+r"(bits), [count] "+r"(count), [left] "+r"(left)
				 :
				 : "cc");
	}
}

static void run(enum core_rate rate, uint64_t turns)
{
	_Alignas(64) uint64_t line[8] = {0}, *at = line;
	switch (rate) {
	case CORE_RATE_SLOTS:
		TURNS(".rept 240\n\txchg %%ax, %%ax\n\t.endr");
		break;
	case CORE_RATE_INTEGER:
		TURNS(".rept 30\n\t.irp r, rax,rdx,rsi,rdi,r8,r9,r10,r11\n\t"
		      "add %[at], %%\\r\n\t.endr\n\t.endr");
		break;
	case CORE_RATE_VECTOR:
		TURNS(".irp r, 0,1,2,3,4,5,6,7,9\n\txorps %%xmm\\r, %%xmm\\r\n\t.endr\n\t"
		      ".rept 30\n\t.irp r, 0,1,2,3,4,5,6,7\n\t"
		      "addpd %%xmm9, %%xmm\\r\n\t.endr\n\t.endr");
		break;
	case CORE_RATE_LOADS:
		TURNS(".rept 60\n\t.irp o, 0,8,16,24\n\t"
		      "mov \\o(%[at]), %%rax\n\t.endr\n\t.endr");
		break;
	case CORE_RATE_STORES:
		TURNS(".rept 60\n\t.irp o, 0,8,16,24\n\t"
		      "mov %%r10, \\o(%[at])\n\t.endr\n\t.endr");
		break;
	case CORE_RATE_BRANCHES:
		guess(turns);
		break;
	case CORE_RATES:
		break;
	}
}

static uint64_t ticks(void)
{
	_mm_lfence();
	const uint64_t now = __rdtsc();
	_mm_lfence();
	return now;
}

static double chain_ticks(void)
{
	const uint64_t start = ticks();
	clock_adds(CHAIN);
	return (double)(ticks() - start);
}

bool core_rates_look(double cycles[CORE_RATES], double *tick_cycles)
{
	double of_rate[CORE_RATES];
	clock_adds(CHAIN / 8); /* its code is there, and the clock */
	const double before = chain_ticks();
	for (int i = 0; i < CORE_RATES; i++) {
		run((enum core_rate)i, 2); /* its code is there as well */
		const uint64_t start = ticks();
		run((enum core_rate)i, turns_of[i]);
		of_rate[i] = (double)(ticks() - start);
	}
	const double after = chain_ticks();
	*tick_cycles = 2 * CHAIN * CLOCK_CYCLES_PER_COUNT / (before + after);
	for (int i = 0; i < CORE_RATES; i++)
		cycles[i] = of_rate[i] * *tick_cycles /
			    ((double)turns_of[i] * (i == CORE_RATE_BRANCHES ? BITS : IN_TURN));
	return fmax(before, after) < ABOUT_SAME * fmin(before, after);
}
