/* C ← A·B + C, n×n by rows, the naive triple loop: 2n³ + n² flop. */
#include "truth.h"

#define N UINT64_C(130)
enum { CALLS = 3 };

/* rdi = n, rsi = A, rdx = B, rcx = C */
KERNEL(dgemm_naive,
		lea r11, [rdi*8];		/* bytes in a row */
		xor r8d, r8d;			/* i */
	1:	xor r9d, r9d;			/* j */
	2:	lea r10, [rdx + r9*8];		/* down column j of B */
		xorps xmm0, xmm0;
		xor eax, eax;			/* k */
	3:	movsd xmm1, [rsi + rax*8];
		mulsd xmm1, [r10];
		addsd xmm0, xmm1;
		add r10, r11;
		inc rax;
		cmp rax, rdi;
		jne 3b;
		addsd xmm0, [rcx + r9*8];
		movsd [rcx + r9*8], xmm0;
		inc r9;
		cmp r9, rdi;
		jne 2b;
		add rsi, r11;
		add rcx, r11;
		inc r8;
		cmp r8, rdi;
		jne 1b;
		ret);

void dgemm_naive(uint64_t n, const double *a, const double *b, double *c);

int main(void)
{
	double *a = doubles(N * N, 0.5), *b = doubles(N * N, 2), *c = doubles(N * N, 1);

	for (int call = 0; call < CALLS; call++)
		dgemm_naive(N, a, b, c);
	printf("sum %.17g\n", sum(c, N * N));
	TRUTH("dgemm_naive", .instructions = CALLS * (2 + N * (1 + N * (3 + 7 * N + 5) + 5) + 1),
	      .load_bytes = CALLS * (16 * N * N * N + 8 * N * N + 8),
	      .store_bytes = CALLS * 8 * N * N,
	      KINDS({ "mul_double_scalar", CALLS * N * N * N },
		    { "add_double_scalar", CALLS * (N * N * N + N * N) }));
	free(a);
	free(b);
	free(c);
	return 0;
}
