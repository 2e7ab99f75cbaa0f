/* Copies without any flop: 8 bytes loaded and 8 stored per element. */
#include "truth.h"

enum { N = 8000, CALLS = 10 };

/* rdi = to, rsi = from, rdx = n */
KERNEL(copy_integer,
		xor eax, eax;
	1:	mov rcx, [rsi + rax*8];
		mov [rdi + rax*8], rcx;
		inc rax;
		cmp rax, rdx;
		jb 1b;
		ret);

KERNEL(copy_sse2,
		xor eax, eax;
	1:	movaps xmm0, [rsi + rax*8];
		movaps [rdi + rax*8], xmm0;
		add rax, 2;
		cmp rax, rdx;
		jb 1b;
		ret);

KERNEL(copy_stream,
		xor eax, eax;
	1:	mov rcx, [rsi + rax*8];
		movnti [rdi + rax*8], rcx;
		inc rax;
		cmp rax, rdx;
		jb 1b;
		sfence;
		ret);

/* Accesses that move no bytes between registers and L1, and one that does. */
KERNEL(touch,
		xor eax, eax;
	1:	prefetcht0 [rsi + rax*8];
		prefetchnta [rsi + rax*8 + 64];
		nop dword ptr [rsi + rax*8];
		lea rcx, [rsi + rax*8];
		clflush [rsi];
		lfence;
		mov cl, [rsi + rax*8 + 7];	/* 1 byte */
		inc rax;
		cmp rax, rdx;
		jb 1b;
		ret);

void copy_integer(double *to, const double *from, uint64_t n);
void copy_sse2(double *to, const double *from, uint64_t n);
void copy_stream(double *to, const double *from, uint64_t n);
void touch(double *to, const double *from, uint64_t n);

int main(void)
{
	double *from = doubles(N, 3), *to = doubles(N, 0);

	for (int call = 0; call < CALLS; call++) {
		copy_integer(to, from, N);
		copy_sse2(from, to, N);
		copy_stream(to, from, N);
		touch(to, from, N / 100);
	}
	printf("sum %.17g\n", sum(to, N));
	TRUTH("copy_integer", .instructions = CALLS * (1 + 5 * N + 1),
	      .load_bytes = CALLS * (8 * N + 8), .store_bytes = CALLS * 8 * N);
	TRUTH("copy_sse2", .instructions = CALLS * (1 + 5 * (N / 2) + 1),
	      .load_bytes = CALLS * (8 * N + 8), .store_bytes = CALLS * 8 * N);
	TRUTH("copy_stream", .instructions = CALLS * (1 + 5 * N + 2),
	      .load_bytes = CALLS * (8 * N + 8), .store_bytes = CALLS * 8 * N);
	TRUTH("touch", .instructions = CALLS * (1 + 10 * (N / 100) + 1),
	      .load_bytes = CALLS * (N / 100 + 8), .store_bytes = 0);
	free(from);
	free(to);
	return 0;
}
