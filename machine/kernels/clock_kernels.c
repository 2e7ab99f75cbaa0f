/* The loops that take a known number of cycles. */
#include "machine/kernels/clock_kernels.h"

#include "machine/topology/cpu_features.h"

void clock_adds(uint64_t count)
{
	uint64_t sum = 0, step = count | 1;
	__asm__ volatile(".p2align 6\n"
			 "1:\n\t"
			 ".rept 256\n\t"
			 "add %[step], %[sum]\n\t"
			 ".endr\n\t"
			 "dec %[count]\n\t"
			 "jnz 1b"
			 : [sum] "+r"(sum), [count] "+r"(count)
			 : [step] "r"(step)
			 : "cc");
}

/* 16 times 8 vector operations between 256 adds.  x ← x·b + c with b = c = 1/2 tends to 1, x ← x·b
 * with b = 1 stays; `half` points at eight of them. */
#define ADDS_WITH(load, operation)                                                                 \
	__asm__ volatile(load ".p2align 6\n"                                                       \
			      "1:\n\t"                                                             \
			      ".rept 16\n\t"                                                       \
			      ".irp r, 0,1,2,3,4,5,6,7\n\t"                                        \
			      "add %[step], %[sum]\n\t" operation "\n\t"                           \
			      "add %[step], %[sum]\n\t"                                            \
			      ".endr\n\t"                                                          \
			      ".endr\n\t"                                                          \
			      "dec %[count]\n\t"                                                   \
			      "jnz 1b"                                                             \
			 : [sum] "+r"(sum), [count] "+r"(count)                                    \
			 : [step] "r"(step), [values] "r"(values)                                  \
			 : "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
			   "xmm7", "xmm8")
#define LOAD(move, register) \
	".irp r, 0,1,2,3,4,5,6,7,8\n\t" move " (%[values]), %%" register "\\r\n\t.endr\n\t"

void clock_adds_with_vectors(uint64_t count)
{
	static const _Alignas(64) double halves[8] = {.5, .5, .5, .5, .5, .5, .5, .5};
	static const _Alignas(64) double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	uint64_t sum = 0, step = count | 1;
	const double *values = cpu_has(CPU_FMA) ? halves : ones;
	if (cpu_has(CPU_AVX512F | CPU_FMA))
		ADDS_WITH(LOAD("vmovapd", "zmm"), "vfmadd213pd %%zmm8, %%zmm8, %%zmm\\r");
	else if (cpu_has(CPU_AVX | CPU_FMA))
		ADDS_WITH(LOAD("vmovapd", "ymm"), "vfmadd213pd %%ymm8, %%ymm8, %%ymm\\r");
	else
		ADDS_WITH(LOAD("movapd", "xmm"), "mulpd %%xmm8, %%xmm\\r");
	if (cpu_has(CPU_AVX))
		__asm__ volatile("vzeroupper" ::: "xmm0");
}
