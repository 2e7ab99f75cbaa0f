/* s ← x·y: 2 flop and 16 bytes loaded per element; a horizontal addition counts one flop for each
 * sum that it makes. */
#include "truth.h"

enum { N = 6000, CALLS = 20 };

/* rdi = n, rsi = x, rdx = y; the sum comes back in xmm0 */
KERNEL(dot_scalar,
		xorps xmm0, xmm0;
		xor eax, eax;
	1:	movsd xmm1, [rsi + rax*8];
		mulsd xmm1, [rdx + rax*8];
		addsd xmm0, xmm1;
		inc rax;
		cmp rax, rdi;
		jb 1b;
		ret);

KERNEL(dot_sse3,
		xorps xmm0, xmm0;
		xor eax, eax;
	1:	movapd xmm1, [rsi + rax*8];
		mulpd xmm1, [rdx + rax*8];
		addpd xmm0, xmm1;
		add rax, 2;
		cmp rax, rdi;
		jb 1b;
		haddpd xmm0, xmm0;		/* two sums */
		ret);

/* Single precision, four elements a step. */
KERNEL(dot_single,
		xorps xmm0, xmm0;
		xor eax, eax;
	1:	movaps xmm1, [rsi + rax*4];
		mulps xmm1, [rdx + rax*4];
		addps xmm0, xmm1;
		add rax, 4;
		cmp rax, rdi;
		jb 1b;
		haddps xmm0, xmm0;		/* four sums */
		haddps xmm0, xmm0;
		ret);

double dot_scalar(uint64_t n, const double *x, const double *y);
double dot_sse3(uint64_t n, const double *x, const double *y);
float dot_single(uint64_t n, const float *x, const float *y);

int main(void)
{
	double *x = doubles(N, 1.5), *y = doubles(N, 2);
	float *u = (float *)doubles(N / 2, 0), *v = (float *)doubles(N / 2, 0);
	double total = 0;

	NEED("sse3");
	for (int i = 0; i < N; i++) {
		u[i] = 0.5f;
		v[i] = 3;
	}
	for (int call = 0; call < CALLS; call++)
		total += dot_scalar(N, x, y) + dot_sse3(N, x, y) + (double)dot_single(N, u, v);
	printf("sum %.17g\n", total);
	TRUTH("dot_scalar", .instructions = CALLS * (2 + 6 * N + 1),
	      .load_bytes = CALLS * (16 * N + 8), .store_bytes = 0,
	      KINDS({ "mul_double_scalar", CALLS * N }, { "add_double_scalar", CALLS * N }));
	TRUTH("dot_sse3", .instructions = CALLS * (2 + 6 * (N / 2) + 2),
	      .load_bytes = CALLS * (16 * N + 8), .store_bytes = 0,
	      KINDS({ "mul_double_128", CALLS * N }, { "add_double_128", CALLS * (N + 2) }));
	TRUTH("dot_single", .instructions = CALLS * (2 + 6 * (N / 4) + 3),
	      .load_bytes = CALLS * (8 * N + 8), .store_bytes = 0,
	      KINDS({ "mul_single_128", CALLS * N }, { "add_single_128", CALLS * (N + 8) }));
	free(x);
	free(y);
	free(u);
	free(v);
	return 0;
}
