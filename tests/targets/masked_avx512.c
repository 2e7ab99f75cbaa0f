/* AVX-512 under masks that vary from step to step, empty and full ones among them: only active
 * lanes work and move bytes. */
#include "truth.h"

enum { N = 3000 };

/* rdi = n, rsi = n masks of 8 bytes each, rdx = from, rcx = to (64 bytes each, used over and over) */
#define MASKED(name, ...)                                                                          \
	KERNEL(name,                                                                               \
			xor eax, eax;                                                              \
		1:	__VA_ARGS__;                                                               \
			inc rax;                                                                   \
			cmp rax, rdi;                                                              \
			jne 1b;                                                                    \
			vzeroupper;                                                                \
			ret);                                                                      \
	void name(uint64_t n, const uint64_t *masks, const void *from, void *to)

MASKED(masked_fma,
	kmovb k1, [rsi + rax*8];				/* 1 loaded */
	vmovupd zmm0{k1}{z}, [rdx];				/* 8 a lane */
	vfmadd231pd zmm0{k1}, zmm0, zmm0;			/* 2 flop a lane */
	vmovupd [rcx]{k1}, zmm0);				/* 8 a lane */

/* The arithmetic instruction loads by itself: its inactive lanes are not read. */
MASKED(masked_memory_operand,
	kmovb k2, [rsi + rax*8];
	vaddpd zmm0{k2}{z}, zmm0, [rdx]);

/* 16 lanes of single precision; 4 lanes of double precision look at 4 mask bits only, a scalar at 1. */
MASKED(masked_widths,
	kmovw k3, [rsi + rax*8];				/* 2 loaded */
	vmulps zmm1{k3}, zmm0, zmm0;
	vsubpd ymm2{k3}, ymm0, ymm0;
	vminpd xmm3{k3}, xmm0, xmm0;
	vdivsd xmm4{k3}, xmm0, xmm0);

/* Elements of 1, 2 and 4 bytes; flop 0. */
MASKED(masked_bytes,
	kmovq k4, [rsi + rax*8];				/* 8 loaded */
	vmovdqu8 zmm0{k4}{z}, [rdx];
	vmovdqu16 [rcx]{k4}, zmm0;
	vmovdqu32 ymm1{k4}, [rdx]);

/* zmm1: indices 0 to 7.  The instructions clear their masks, so each gets its own copy. */
MASKED(masked_gather_scatter,
	kmovb k1, [rsi + rax*8];
	kmovq k2, k1;
	kmovq k3, k1;
	vpmovzxbq zmm1, qword ptr [rdx + 64];			/* 8 loaded */
	vgatherqpd zmm0{k2}, [rdx + zmm1*8];			/* 8 a lane */
	vscatterqpd [rcx + zmm1*8]{k3}, zmm0);			/* 8 a lane */

MASKED(masked_compress_expand,
	kmovb k5, [rsi + rax*8];
	vexpandpd zmm0{k5}{z}, [rdx];				/* 8 a lane */
	vcompresspd [rcx]{k5}, zmm0);				/* 8 a lane */

static int active(uint64_t mask, int lanes)
{
	return __builtin_popcountll(lanes < 64 ? mask & ((UINT64_C(1) << lanes) - 1) : mask);
}

/* Masks that reach every value of the low byte, all zero and all one included. */
static void masks_fill(uint64_t *masks)
{
	for (uint64_t i = 0; i < N; i++)
		masks[i] = i % 7 == 0 ? 0 : i % 11 == 0 ? UINT64_MAX : i * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t lanes_of(const uint64_t *masks, int lanes)
{
	uint64_t total = 0;

	for (int i = 0; i < N; i++)
		total += active(masks[i], lanes);
	return total;
}

static void print_truths(const uint64_t *masks)
{
	uint64_t a1 = lanes_of(masks, 1), a2 = lanes_of(masks, 2), a4 = lanes_of(masks, 4),
		 a8 = lanes_of(masks, 8), a16 = lanes_of(masks, 16), a32 = lanes_of(masks, 32),
		 a64 = lanes_of(masks, 64);

	TRUTH("masked_fma", .instructions = 1 + 7 * N + 2, .load_bytes = N + 8 * a8 + 8,
	      .store_bytes = 8 * a8, KINDS({ "fma_double_512", 2 * a8 }));
	TRUTH("masked_memory_operand", .instructions = 1 + 5 * N + 2, .load_bytes = N + 8 * a8 + 8,
	      .store_bytes = 0, KINDS({ "add_double_512", a8 }));
	TRUTH("masked_widths", .instructions = 1 + 8 * N + 2, .load_bytes = 2 * N + 8, .store_bytes = 0,
	      KINDS({ "mul_single_512", a16 }, { "add_double_256", a4 },
		    { "other_double_128", a2 }, { "div_double_scalar", a1 }));
	TRUTH("masked_bytes", .instructions = 1 + 7 * N + 2,
	      .load_bytes = 8 * N + a64 + 4 * a8 + 8, .store_bytes = 2 * a32);
	TRUTH("masked_gather_scatter", .instructions = 1 + 9 * N + 2,
	      .load_bytes = N + 8 * N + 8 * a8 + 8, .store_bytes = 8 * a8);
	TRUTH("masked_compress_expand", .instructions = 1 + 6 * N + 2,
	      .load_bytes = N + 8 * a8 + 8, .store_bytes = 8 * a8);
}

int main(void)
{
	static uint64_t masks[N];
	static struct { double from[8]; uint8_t index[8]; double to[8]; } data
		__attribute__((aligned(64))) = { { 1, 2, 3, 4, 5, 6, 7, 8 }, { 7, 1, 5, 3, 0, 6, 2, 4 }, { 0 } };

	NEED("avx512f");
	NEED("avx512dq");
	NEED("avx512bw");
	NEED("avx512vl");
	masks_fill(masks);
	masked_fma(N, masks, data.from, data.to);
	masked_memory_operand(N, masks, data.from, data.to);
	masked_widths(N, masks, data.from, data.to);
	masked_bytes(N, masks, data.from, data.to);
	masked_gather_scatter(N, masks, data.from, data.to);
	masked_compress_expand(N, masks, data.from, data.to);
	for (int i = 0; i < 8; i++)
		printf("%.17g ", data.to[i]);
	printf("\n");
	print_truths(masks);
	return 0;
}
