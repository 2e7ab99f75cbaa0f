/* Control flow of every sort, counted to the instruction: recursion, tables, loops entered in the
 * middle, flags that live across jumps, returns to where no call was. */
#include "truth.h"

enum { N = 5000 };

/* rdi = n: fib(n) by double recursion.  A call with n < 2 runs 4 instructions (mov, cmp, jb, ret),
 * any other 13, and makes two calls. */
KERNEL(fibonacci,
		mov rax, rdi;
		cmp rdi, 2;
		jb 1f;
		push rdi;					/* 8 stored */
		.cfi_adjust_cfa_offset 8;
		dec rdi;
		call fibonacci;					/* 8 stored */
		pop rdi;					/* 8 loaded */
		.cfi_adjust_cfa_offset -8;
		push rax;					/* 8 stored */
		.cfi_adjust_cfa_offset 8;
		sub rdi, 2;
		call fibonacci;					/* 8 stored */
		pop rdx;					/* 8 loaded */
		.cfi_adjust_cfa_offset -8;
		add rax, rdx;
	1:	ret);						/* 8 loaded */

/* rdi = n steps of a machine of three operations, rsi = program of bytes 0, 1, 2.  Each step:
 * seven instructions up to the jump through the table, two in the operation. */
KERNEL(dispatch,
		xor eax, eax;
		lea r8, [rip + 5f];
	1:	movzx ecx, byte ptr [rsi];			/* 1 loaded */
		inc rsi;
		dec rdi;
		js 4f;
		movsxd rcx, dword ptr [r8 + rcx*4];		/* 4 loaded */
		add rcx, r8;
		jmp rcx;
	2:	add rax, 3;
		jmp 1b;
	3:	xor rax, 0x55;
		jmp 1b;
	4:	ret;
		.p2align 2;
	5:	.long 2b - 5b;
		.long 3b - 5b;
		.long 6f - 5b;
	6:	rol rax, 5;
		jmp 1b);

/* rdi = n ≥ 1: the loop is entered in its middle, so that two blocks share instructions. */
KERNEL(middle,
		xor eax, eax;
		jmp 2f;
	1:	add rax, rdi;
	2:	add rax, 1;
		dec rdi;
		jnz 1b;
		ret);

/* rdi = n words at rsi and rdx: the carry lives across every jump of the loop. */
KERNEL(carry,
		mov rcx, rdi;
		clc;
	1:	mov rax, [rsi];					/* 8 loaded */
		adc [rdx], rax;					/* 8 and 8 */
		lea rsi, [rsi + 8];
		lea rdx, [rdx + 8];
		dec rcx;
		jnz 1b;
		setc al;
		movzx eax, al;
		ret);

/* rdi = n: `loop`, `jrcxz`, saved flags, get-the-pc calls, a `ret` used as a jump, `ret imm16`. */
KERNEL(odd_transfers,
		mov rcx, rdi;
		xor eax, eax;
	1:	jrcxz 3f;
		call 2f;					/* 8 stored */
	2:	pop rdx;					/* 8 loaded: where label 2 is */
		lea r8, [rip + 2b];
		sub rdx, r8;
		add rax, rdx;
		pushfq;						/* 8 stored */
		popfq;						/* 8 loaded */
		lea r8, [rip + 4f];
		push r8;					/* 8 stored */
		ret;						/* 8 loaded */
	4:	inc rax;
		loop 1b;
	3:	ret);						/* 8 loaded */

/* rdi = n: indirect calls through memory and a register to a function that pops its argument. */
KERNEL(callee, add rax, [rsp + 8]; ret 8);			/* 8 + 8 loaded */
KERNEL(caller,
		xor eax, eax;
		lea rdx, [rip + callee];
		push rdx;					/* 8 stored */
		.cfi_adjust_cfa_offset 8;
	1:	push rdi;					/* 8 stored */
		call rdx;					/* 8 stored */
		push 1;						/* 8 stored */
		call qword ptr [rsp + 8];			/* 8 loaded, 8 stored */
		dec rdi;
		jnz 1b;
		pop rdx;					/* 8 loaded */
		.cfi_adjust_cfa_offset -8;
		ret);						/* 8 loaded */

uint64_t fibonacci(uint64_t n);
uint64_t dispatch(uint64_t n, const uint8_t *program);
uint64_t middle(uint64_t n);
uint64_t carry(uint64_t n, const uint64_t *from, uint64_t *to);
uint64_t odd_transfers(uint64_t n);
uint64_t caller(uint64_t n);

static void run_fibonacci(void)
{
	/* Calls of fib(20): leaves = fib(21) = 10946, inner = leaves − 1. */
	uint64_t leaves = 10946, inner = leaves - 1;

	printf("fibonacci %" PRIu64 "\n", fibonacci(20));
	TRUTH("fibonacci", .instructions = 4 * leaves + 13 * inner,
	      .load_bytes = 8 * leaves + 24 * inner, .store_bytes = 32 * inner);
}

static void run_carry(void)
{
	static uint64_t from[N], to[N];

	for (int i = 0; i < N; i++) {
		from[i] = UINT64_MAX - i % 3;
		to[i] = i % 5;
	}
	printf("carry %" PRIu64, carry(N, from, to));
	for (int i = 0; i < 8; i++)
		printf(" %" PRIx64, to[i]);
	printf("\n");
	TRUTH("carry", .instructions = 2 + 6 * N + 3, .load_bytes = 16 * N + 8, .store_bytes = 8 * N);
}

int main(void)
{
	static uint8_t program[N + 1];

	for (int i = 0; i < N; i++)
		program[i] = i * i % 7 % 3;
	run_fibonacci();
	printf("dispatch %" PRIx64 "\n", dispatch(N, program));
	TRUTH("dispatch", .instructions = 2 + 9 * N + 5, .load_bytes = 5 * N + 1 + 8, .store_bytes = 0);
	printf("middle %" PRIu64 "\n", middle(N));
	TRUTH("middle", .instructions = 2 + (4 * N - 1) + 1, .load_bytes = 8, .store_bytes = 0);
	run_carry();
	printf("odd_transfers %" PRIu64 "\n", odd_transfers(N));
	TRUTH("odd_transfers", .instructions = 2 + 13 * N + 1, .load_bytes = 24 * N + 8,
	      .store_bytes = 24 * N);
	printf("caller %" PRIu64 "\n", caller(N));
	TRUTH("caller", .instructions = 3 + 6 * N + 2, .load_bytes = 8 * N + 16,
	      .store_bytes = 32 * N + 8);
	TRUTH("callee", .instructions = 2 * 2 * N, .load_bytes = 16 * 2 * N, .store_bytes = 0);
	return 0;
}
