/* Divisions, square roots, minima, maxima and approximate reciprocals among conversions, moves,
 * compares, logic and shuffles, which are no flop. */
#include "truth.h"

enum { N = 20000 };

/* rdi = n, rsi = two doubles */
KERNEL(divsqrt_double,
		movapd xmm2, [rsi];
		movapd xmm0, xmm2;
	1:	divsd xmm0, xmm2;
		sqrtsd xmm1, xmm2;
		divpd xmm1, xmm2;
		sqrtpd xmm1, [rsi];
		minsd xmm0, [rsi];
		maxpd xmm1, xmm2;
		ucomisd xmm0, xmm2;
		cmppd xmm1, xmm2, 1;
		andpd xmm1, xmm2;
		shufpd xmm1, xmm2, 1;
		cvtsd2ss xmm3, xmm0;
		cvttsd2si rax, xmm0;
		cvtsi2sd xmm0, rax;
		movapd xmm0, xmm2;
		dec rdi;
		jnz 1b;
		ret);

/* rdi = n, rsi = four floats */
KERNEL(divsqrt_single,
		movaps xmm2, [rsi];
	1:	divss xmm0, dword ptr [rsi + 4];
		sqrtss xmm1, xmm2;
		divps xmm1, xmm2;
		sqrtps xmm1, [rsi];
		minps xmm0, xmm2;
		maxss xmm0, dword ptr [rsi];
		rcpps xmm3, xmm2;
		rsqrtss xmm3, xmm2;
		subps xmm3, xmm2;
		movaps xmm0, xmm2;
		dec rdi;
		jnz 1b;
		ret);

void divsqrt_double(uint64_t n, const double *x);
void divsqrt_single(uint64_t n, const float *x);

int main(void)
{
	static const double x[2] __attribute__((aligned(16))) = { 2, 3 };
	static const float y[4] __attribute__((aligned(16))) = { 2, 3, 4, 5 };

	divsqrt_double(N, x);
	divsqrt_single(N, y);
	TRUTH("divsqrt_double", .instructions = 2 + 16 * N + 1,
	      .load_bytes = 16 + (16 + 8) * N + 8, .store_bytes = 0,
	      KINDS({ "div_double_scalar", N }, { "div_double_128", 2 * N },
		    { "sqrt_double_scalar", N }, { "sqrt_double_128", 2 * N },
		    { "other_double_scalar", N }, { "other_double_128", 2 * N }));
	TRUTH("divsqrt_single", .instructions = 1 + 12 * N + 1,
	      .load_bytes = 16 + (4 + 16 + 4) * N + 8, .store_bytes = 0,
	      KINDS({ "div_single_scalar", N }, { "div_single_128", 4 * N },
		    { "sqrt_single_scalar", N }, { "sqrt_single_128", 4 * N },
		    { "other_single_128", (4 + 4) * N }, { "other_single_scalar", (1 + 1) * N },
		    { "add_single_128", 4 * N }));
	return 0;
}
