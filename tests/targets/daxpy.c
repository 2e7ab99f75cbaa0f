/* y ← a·x + y: one multiplication and one addition, 16 bytes loaded and 8 stored per element. */
#include "truth.h"

enum { N = 4000, CALLS = 25 };

/* rdi = n, xmm0 = a, rsi = x, rdx = y */
KERNEL(daxpy_scalar,
		xor eax, eax;
	1:	movsd xmm1, [rsi + rax*8];
		mulsd xmm1, xmm0;
		addsd xmm1, [rdx + rax*8];
		movsd [rdx + rax*8], xmm1;
		inc rax;
		cmp rax, rdi;
		jne 1b;
		ret);

KERNEL(daxpy_sse2,
		unpcklpd xmm0, xmm0;
		xor eax, eax;
	1:	movapd xmm1, [rsi + rax*8];
		mulpd xmm1, xmm0;
		addpd xmm1, [rdx + rax*8];
		movapd [rdx + rax*8], xmm1;
		add rax, 2;
		cmp rax, rdi;
		jne 1b;
		ret);

void daxpy_scalar(uint64_t n, double a, const double *x, double *y);
void daxpy_sse2(uint64_t n, double a, const double *x, double *y);

int main(void)
{
	double *x = doubles(N, 2), *y = doubles(N, 1);

	for (int call = 0; call < CALLS; call++) {
		daxpy_scalar(N, 0.5, x, y);
		daxpy_sse2(N, 0.25, x, y);
	}
	printf("sum %.17g\n", sum(y, N));
	TRUTH("daxpy_scalar", .instructions = CALLS * (1 + 7 * N + 1),
	      .load_bytes = CALLS * (16 * N + 8), .store_bytes = CALLS * 8 * N,
	      KINDS({ "mul_double_scalar", CALLS * N }, { "add_double_scalar", CALLS * N }));
	TRUTH("daxpy_sse2", .instructions = CALLS * (2 + 7 * (N / 2) + 1),
	      .load_bytes = CALLS * (16 * N + 8), .store_bytes = CALLS * 8 * N,
	      KINDS({ "mul_double_128", CALLS * N }, { "add_double_128", CALLS * N }));
	free(x);
	free(y);
	return 0;
}
