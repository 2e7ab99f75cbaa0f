/* Integer work only: read-modify-write operands, narrow accesses, atomics, integer vectors. */
#include "truth.h"

enum { N = 10000 };

/* rdi = n, rsi = 64 bytes of memory */
KERNEL(integer_mix,
		xor eax, eax;
	1:	add qword ptr [rsi], rax;			/* 8 loaded, 8 stored */
		inc dword ptr [rsi + 8];			/* 4 and 4 */
		movzx ecx, byte ptr [rsi + 16];			/* 1 loaded */
		mov word ptr [rsi + 18], cx;			/* 2 stored */
		imul rcx, [rsi + 24], 3;			/* 8 loaded */
		cmp dword ptr [rsi + 32], 5;			/* 4 loaded */
		setne byte ptr [rsi + 36];			/* 1 stored */
		cmove rcx, [rsi + 40];				/* 8 loaded, taken or not */
		test byte ptr [rsi + 48], 1;			/* 1 loaded */
		mov qword ptr [rsi + 24], rcx;			/* 8 stored */
		shl rcx, 3;
		movsxd rdx, dword ptr [rsi + 8];		/* 4 loaded */
		inc rax;
		cmp rax, rdi;
		jb 1b;
		ret);

KERNEL(integer_atomic,
		mov edx, 1;
	1:	lock xadd [rsi], rdx;				/* 8 and 8 */
		xchg [rsi + 8], rdx;				/* 8 and 8 */
		lock inc dword ptr [rsi + 16];			/* 4 and 4 */
		dec rdi;
		jnz 1b;
		ret);

KERNEL(integer_sse2,
		pxor xmm0, xmm0;
	1:	paddd xmm0, [rsi];				/* 16 loaded */
		movdqa xmm1, xmm0;
		pmuludq xmm1, xmm0;
		psrlq xmm1, 7;
		movq [rsi + 16], xmm1;				/* 8 stored */
		movd ecx, xmm1;
		pinsrw xmm1, word ptr [rsi + 24], 2;		/* 2 loaded */
		dec rdi;
		jnz 1b;
		ret);

/* rsp moves: the frame information follows it for the whole function. */
KERNEL(integer_stack,
		push rbx;					/* 8 stored */
		.cfi_adjust_cfa_offset 8;
		.cfi_rel_offset rbx, 0;
	1:	push rdi;					/* 8 stored */
		push 5;						/* 8 stored */
		push qword ptr [rsi];				/* 8 and 8 */
		pop qword ptr [rsi + 8];			/* 8 and 8 */
		pop rbx;					/* 8 loaded */
		pop rdi;					/* 8 loaded */
		dec rdi;
		jnz 1b;
		pop rbx;					/* 8 loaded */
		.cfi_adjust_cfa_offset -8;
		.cfi_restore rbx;
		ret);

typedef void integer_fn(uint64_t n, void *memory);
integer_fn integer_mix, integer_atomic, integer_sse2, integer_stack;

int main(void)
{
	static uint64_t memory[8] __attribute__((aligned(64))) = { 1, 2, 3, 4, 5, 6, 7, 8 };

	integer_mix(N, memory);
	integer_atomic(N, memory);
	integer_sse2(N, memory);
	integer_stack(N, memory);
	for (int i = 0; i < 8; i++)
		printf("%" PRIx64 " ", memory[i]);
	printf("\n");
	TRUTH("integer_mix", .instructions = 1 + 15 * N + 1,
	      .load_bytes = (8 + 4 + 1 + 8 + 4 + 8 + 1 + 4) * N + 8,
	      .store_bytes = (8 + 4 + 2 + 1 + 8) * N);
	TRUTH("integer_atomic", .instructions = 1 + 5 * N + 1, .load_bytes = 20 * N + 8,
	      .store_bytes = 20 * N);
	TRUTH("integer_sse2", .instructions = 1 + 9 * N + 1, .load_bytes = (16 + 2) * N + 8,
	      .store_bytes = 8 * N);
	TRUTH("integer_stack", .instructions = 1 + 8 * N + 2,
	      .load_bytes = (8 + 8 + 8 + 8) * N + 8 + 8, .store_bytes = (8 + 8 + 8 + 8) * N + 8);
	return 0;
}
