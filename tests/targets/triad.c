/* STREAM triad a ← b + s·c: 2 flop, 16 bytes loaded, 8 stored per element. */
#include "truth.h"

enum { N = 100000, CALLS = 5 };

/* rdi = n, rsi = a, rdx = b, rcx = c, xmm0 = s */
KERNEL(triad,
		unpcklpd xmm0, xmm0;
		xor eax, eax;
	1:	movapd xmm1, [rcx + rax*8];
		mulpd xmm1, xmm0;
		addpd xmm1, [rdx + rax*8];
		movapd [rsi + rax*8], xmm1;
		add rax, 2;
		cmp rax, rdi;
		jb 1b;
		ret);

/* The same past the caches: a non-temporal store moves its bytes too. */
KERNEL(triad_stream,
		unpcklpd xmm0, xmm0;
		xor eax, eax;
	1:	movapd xmm1, [rcx + rax*8];
		mulpd xmm1, xmm0;
		addpd xmm1, [rdx + rax*8];
		movntpd [rsi + rax*8], xmm1;
		add rax, 2;
		cmp rax, rdi;
		jb 1b;
		sfence;
		ret);

void triad(uint64_t n, double *a, const double *b, const double *c, double s);
void triad_stream(uint64_t n, double *a, const double *b, const double *c, double s);

int main(void)
{
	double *a = doubles(N, 0), *b = doubles(N, 1), *c = doubles(N, 2);

	for (int call = 0; call < CALLS; call++) {
		triad(N, a, b, c, call);
		triad_stream(N, b, a, c, 0.5);
	}
	printf("sum %.17g\n", sum(b, N));
	TRUTH("triad", .instructions = CALLS * (2 + 7 * (N / 2) + 1),
	      .load_bytes = CALLS * (UINT64_C(16) * N + 8), .store_bytes = CALLS * 8 * N,
	      KINDS({ "mul_double_128", CALLS * N }, { "add_double_128", CALLS * N }));
	TRUTH("triad_stream", .instructions = CALLS * (2 + 7 * (N / 2) + 2),
	      .load_bytes = CALLS * (UINT64_C(16) * N + 8), .store_bytes = CALLS * 8 * N,
	      KINDS({ "mul_double_128", CALLS * N }, { "add_double_128", CALLS * N }));
	free(a);
	free(b);
	free(c);
	return 0;
}
