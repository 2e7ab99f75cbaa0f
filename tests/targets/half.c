/* Half precision storage (F16C): conversions move bytes and are no flop. */
#include "truth.h"

enum { N = 8000 };

/* rdi = n, rsi = half, rdx = single */
KERNEL(half_to_single,
		xor eax, eax;
	1:	vcvtph2ps ymm0, [rsi + rax*2];			/* 16 loaded */
		vmovups [rdx + rax*4], ymm0;			/* 32 stored */
		add rax, 8;
		cmp rax, rdi;
		jb 1b;
		vzeroupper;
		ret);

KERNEL(single_to_half,
		xor eax, eax;
	1:	vmovups ymm0, [rdx + rax*4];			/* 32 loaded */
		vaddps ymm0, ymm0, ymm0;			/* 8 flop */
		vcvtps2ph [rsi + rax*2], ymm0, 0;		/* 16 stored */
		add rax, 8;
		cmp rax, rdi;
		jb 1b;
		vzeroupper;
		ret);

void half_to_single(uint64_t n, uint16_t *half, float *single);
void single_to_half(uint64_t n, uint16_t *half, float *single);

int main(void)
{
	static uint16_t half[N];
	static float single[N];

	need_cpuid("f16c", 0, 1, 'c', 29);
	for (int i = 0; i < N; i++)
		half[i] = 0x3c00 + i % 512;
	half_to_single(N, half, single);
	single_to_half(N, half, single);
	printf("half %x %x %x\n", half[1], half[77], half[511]);
	TRUTH("half_to_single", .instructions = 1 + 5 * (N / 8) + 2, .load_bytes = 2 * N + 8,
	      .store_bytes = 4 * N);
	TRUTH("single_to_half", .instructions = 1 + 6 * (N / 8) + 2, .load_bytes = 4 * N + 8,
	      .store_bytes = 2 * N, KINDS({ "add_single_256", N }));
	return 0;
}
