/* Half-precision arithmetic (AVX512-FP16). */
#include "truth.h"

enum { N = 5000 };

/* rdi = n, rsi = 64 bytes */
KERNEL(fp16_mix,
		vmovdqu16 zmm0, [rsi];				/* 64 loaded */
	1:	vfmadd231ph zmm1, zmm0, zmm0;			/* 32 lanes */
		vaddph ymm2, ymm0, [rsi];			/* 16 lanes, 32 loaded */
		vmulsh xmm3, xmm0, word ptr [rsi];		/* 2 loaded */
		vsqrtph xmm4, xmm0;				/* 8 lanes */
		vcvtph2w zmm5, zmm0;
		dec rdi;
		jnz 1b;
		vzeroupper;
		ret);
void fp16_mix(uint64_t n, const uint16_t *x);

int main(void)
{
	static uint16_t x[32];

	need_cpuid("avx512fp16", 1, 7, 'd', 23);
	for (int i = 0; i < 32; i++)
		x[i] = 0x3c00;
	fp16_mix(N, x);
	TRUTH("fp16_mix", .instructions = 1 + 7 * N + 2, .load_bytes = 64 + 34 * N + 8,
	      .store_bytes = 0,
	      KINDS({ "fma_half_512", 64 * N }, { "add_half_256", 16 * N }, { "mul_half_scalar", N },
		    { "sqrt_half_128", 8 * N }));
	return 0;
}
