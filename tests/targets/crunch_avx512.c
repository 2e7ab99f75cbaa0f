/* FMA 512 bits wide, and the registers and forms that only EVEX encodings reach. */
#include "crunch_fma.h"

CRUNCH_FMA(fma_double_512, vfmadd231pd, zmm);
CRUNCH_FMA(fma_single_512, vfmadd213ps, zmm);

/* rdi = n, rsi = one double: registers 16 to 31, embedded broadcast (8 bytes loaded) and rounding. */
KERNEL(fma_evex_only,
		vpxorq zmm16, zmm16, zmm16;
		vpxorq zmm31, zmm31, zmm31;
	1:	vfmadd231pd zmm16, zmm31, qword ptr [rsi]{1to8};
		vaddpd zmm16, zmm16, zmm31, {rz-sae};
		vmulps zmm17, zmm31, zmm31;
		vsubsd xmm18, xmm31, [rsi];
		dec rdi;
		jnz 1b;
		ret);
void fma_evex_only(uint64_t n, const double *one);

int main(void)
{
	static const double one = 1;

	NEED("avx512f");
	crunch_fma("fma_double_512", fma_double_512, 8, "fma_double_512");
	crunch_fma("fma_single_512", fma_single_512, 16, "fma_single_512");
	fma_evex_only(N, &one);
	TRUTH("fma_evex_only", .instructions = 2 + 6 * N + 1, .load_bytes = 16 * N + 8,
	      .store_bytes = 0,
	      KINDS({ "fma_double_512", 16 * N }, { "add_double_512", 8 * N },
		    { "mul_single_512", 16 * N }, { "add_double_scalar", N }));
	return 0;
}
