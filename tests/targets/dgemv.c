/* y ← A·x + y, A n×n by rows: 2n² flop (n² multiplications, n² − n + n additions and n for y). */
#include "truth.h"

enum { N = 300, CALLS = 6 };

/* rdi = n, rsi = A, rdx = x, rcx = y */
KERNEL(dgemv,
		xor r8d, r8d;			/* row */
	1:	xorps xmm0, xmm0;
		xor eax, eax;			/* column */
	2:	movsd xmm1, [rsi + rax*8];
		mulsd xmm1, [rdx + rax*8];
		addsd xmm0, xmm1;
		inc rax;
		cmp rax, rdi;
		jne 2b;
		addsd xmm0, [rcx + r8*8];
		movsd [rcx + r8*8], xmm0;
		lea rsi, [rsi + rdi*8];
		inc r8;
		cmp r8, rdi;
		jne 1b;
		ret);

void dgemv(uint64_t n, const double *a, const double *x, double *y);

int main(void)
{
	double *a = doubles(N * N, 0.5), *x = doubles(N, 2), *y = doubles(N, 1);

	for (int call = 0; call < CALLS; call++)
		dgemv(N, a, x, y);
	printf("sum %.17g\n", sum(y, N));
	TRUTH("dgemv", .instructions = CALLS * (1 + N * (2 + 6 * N + 6) + 1),
	      .load_bytes = CALLS * (16 * N * N + 8 * N + 8), .store_bytes = CALLS * 8 * N,
	      KINDS({ "mul_double_scalar", CALLS * N * N },
		    { "add_double_scalar", CALLS * (N * N + N) }));
	free(a);
	free(x);
	free(y);
	return 0;
}
