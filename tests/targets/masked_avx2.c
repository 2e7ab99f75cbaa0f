/* AVX and AVX2 accesses under a vector mask: the sign bit of an element makes its lane active. */
#include "truth.h"

#include <string.h>

enum { N = 3000 };

/* rdi = n, rsi = n masks of 32 bytes, rdx = from, rcx = to */
#define MASKED(name, ...)                                                                          \
	KERNEL(name,                                                                               \
			mov eax, edi;                                                              \
		1:	__VA_ARGS__;                                                               \
			add rsi, 32;                                                               \
			dec eax;                                                                   \
			jne 1b;                                                                    \
			vzeroupper;                                                                \
			ret);                                                                      \
	void name(uint64_t n, const void *masks, const void *from, void *to)

MASKED(maskmov_double,
	vmovdqa ymm1, [rsi];					/* 32 loaded */
	vmaskmovpd ymm0, ymm1, [rdx];				/* 8 a lane of 4 */
	vmulpd ymm0, ymm0, ymm0;				/* not masked: 4 flop */
	vmaskmovpd [rcx], ymm1, ymm0);				/* 8 a lane of 4 */

MASKED(maskmov_dword,
	vmovdqa ymm12, [rsi];
	vpmaskmovd ymm0, ymm12, [rdx];				/* 4 a lane of 8 */
	vpmaskmovd [rcx], xmm12, xmm0);				/* 4 a lane of 4 */

/* The masks are cleared by the instructions: each one loads its own. */
MASKED(gather_avx2,
	vmovdqa ymm1, [rsi];					/* 32 loaded */
	vmovdqa ymm3, ymm1;
	vpmovzxbd ymm2, qword ptr [rdx + 64];			/* 8 loaded: the indices */
	vgatherdps ymm0, [rdx + ymm2*4], ymm1;			/* 4 a lane of 8 */
	vgatherdpd ymm0, [rdx + xmm2*8], ymm3);			/* 8 a lane of 4 */

/* maskmovdqu stores at rdi: bytes of the 16 whose sign bit is set. */
KERNEL(maskmov_bytes,
		mov eax, edi;
		mov rdi, rcx;
	1:	movdqa xmm1, [rsi];
		maskmovdqu xmm0, xmm1;
		add rsi, 32;
		dec eax;
		jne 1b;
		sfence;
		ret);
void maskmov_bytes(uint64_t n, const void *masks, const void *from, void *to);

/* Number of elements, `size` bytes each, among the first `bytes` of each mask whose sign is set. */
static uint64_t lanes_of(const uint8_t masks[N][32], int size, int bytes)
{
	uint64_t total = 0;

	for (int i = 0; i < N; i++)
		for (int byte = size - 1; byte < bytes; byte += size)
			total += masks[i][byte] >> 7;
	return total;
}

static void masks_fill(uint8_t masks[N][32])
{
	for (uint64_t i = 0; i < N; i++)
		for (uint64_t word = 0; word < 4; word++) {
			uint64_t bits = (4 * i + word + 1) * UINT64_C(0x9e3779b97f4a7c15);

			bits = i % 7 == 0 ? 0 : i % 11 == 0 ? UINT64_MAX : bits ^ bits >> 29;
			memcpy(&masks[i][8 * word], &bits, 8);
		}
}

int main(void)
{
	static uint8_t masks[N][32] __attribute__((aligned(32)));
	static struct { double from[8]; uint8_t index[8]; double to[8]; } data
		__attribute__((aligned(64))) = { { 1, 2, 3, 4, 5, 6, 7, 8 }, { 7, 1, 5, 3, 0, 6, 2, 4 }, { 0 } };

	NEED("avx2");
	masks_fill(masks);
	maskmov_double(N, masks, data.from, data.to);
	maskmov_dword(N, masks, data.from, data.to);
	gather_avx2(N, masks, data.from, data.to);
	maskmov_bytes(N, masks, data.from, data.to);

	uint64_t d4 = lanes_of(masks, 8, 32), s8 = lanes_of(masks, 4, 32), s4 = lanes_of(masks, 4, 16);

	TRUTH("maskmov_double", .instructions = 1 + 7 * N + 2, .load_bytes = 32 * N + 8 * d4 + 8,
	      .store_bytes = 8 * d4, KINDS({ "mul_double_256", 4 * N }));
	TRUTH("maskmov_dword", .instructions = 1 + 6 * N + 2, .load_bytes = 32 * N + 4 * s8 + 8,
	      .store_bytes = 4 * s4);
	TRUTH("gather_avx2", .instructions = 1 + 8 * N + 2,
	      .load_bytes = (32 + 8) * N + 4 * s8 + 8 * d4 + 8, .store_bytes = 0);
	TRUTH("maskmov_bytes", .instructions = 2 + 5 * N + 2, .load_bytes = 16 * N + 8,
	      .store_bytes = lanes_of(masks, 1, 16));
	return 0;
}
