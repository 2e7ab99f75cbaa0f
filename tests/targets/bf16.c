/* bfloat16 dot products (AVX512_BF16): 2 flop per product, two products per single-precision lane. */
#include "truth.h"

enum { N = 6400 };

/* rdi = n, rsi = x, rdx = y, rcx = 16 sums */
KERNEL(bf16_dot,
		vpxorq zmm0, zmm0, zmm0;
		xor eax, eax;
	1:	vmovdqu16 zmm1, [rsi + rax*2];			/* 64 loaded */
		vdpbf16ps zmm0, zmm1, [rdx + rax*2];		/* 64 loaded, 32 products */
		vdpbf16ps xmm2, xmm1, xmm1;			/* 8 products */
		vcvtneps2bf16 ymm3, zmm0;			/* a conversion */
		add rax, 32;
		cmp rax, rdi;
		jb 1b;
		vmovups [rcx], zmm0;				/* 64 stored */
		vzeroupper;
		ret);

void bf16_dot(uint64_t n, const uint16_t *x, const uint16_t *y, float *sums);

int main(void)
{
	static uint16_t x[N], y[N];
	static float sums[16];

	NEED("avx512bf16");
	NEED("avx512bw");
	NEED("avx512vl");
	for (int i = 0; i < N; i++) {
		x[i] = 0x3f80;
		y[i] = 0x4000;
	}
	bf16_dot(N, x, y, sums);
	printf("sum %.9g\n", (double)sums[5]);
	TRUTH("bf16_dot", .instructions = 2 + 7 * (N / 32) + 3, .load_bytes = 4 * N + 8,
	      .store_bytes = 64,
	      KINDS({ "fma_bfloat16_512", 2 * N }, { "fma_bfloat16_128", 2 * 8 * (N / 32) }));
	return 0;
}
