/* FP Crunch without FMA: multiplications and additions between registers, scalar and packed. */
#include "truth.h"

enum { N = 50000 };

/* rdi = n; x ← x·1 + 0 in four chains.  xmm8 = 1, xmm9 = 0 by conversion, which is no flop. */
#define CRUNCH(name, cvt, mul, add)                                                                \
	KERNEL(name,                                                                               \
			mov eax, 1;                                                                \
			cvt xmm8, eax;                                                             \
			xorps xmm9, xmm9;                                                          \
			movaps xmm0, xmm9;                                                         \
			movaps xmm1, xmm9;                                                         \
		1:	mul xmm0, xmm8;                                                            \
			add xmm0, xmm9;                                                            \
			mul xmm1, xmm8;                                                            \
			add xmm1, xmm9;                                                            \
			dec rdi;                                                                   \
			jnz 1b;                                                                    \
			ret);                                                                      \
	void name(uint64_t n)

CRUNCH(crunch_double_scalar, cvtsi2sd, mulsd, addsd);
CRUNCH(crunch_double_128, cvtsi2sd, mulpd, addpd);
CRUNCH(crunch_single_scalar, cvtsi2ss, mulss, addss);
CRUNCH(crunch_single_128, cvtsi2ss, mulps, addps);

static void crunch(const char *name, void kernel(uint64_t), int lanes, const char *mul, const char *add)
{
	kernel(N);
	TRUTH(name, .instructions = 5 + 6 * N + 1, .load_bytes = 8, .store_bytes = 0,
	      KINDS({ mul, UINT64_C(2) * lanes * N }, { add, UINT64_C(2) * lanes * N }));
}

int main(void)
{
	crunch("crunch_double_scalar", crunch_double_scalar, 1, "mul_double_scalar", "add_double_scalar");
	crunch("crunch_double_128", crunch_double_128, 2, "mul_double_128", "add_double_128");
	crunch("crunch_single_scalar", crunch_single_scalar, 1, "mul_single_scalar", "add_single_scalar");
	crunch("crunch_single_128", crunch_single_128, 4, "mul_single_128", "add_single_128");
	return 0;
}
