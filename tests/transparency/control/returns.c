/* Returns that are no returns, and calls that are no calls.
 * @cases jump push pop changed swallowed immediate mismatch leave self prefixed */
#include "../own.h"

#define NAKED(name, code) \
	extern long name(long); \
	__asm__(".pushsection .text; .type " #name ", @function\n" #name ":\n\t" code "\n\t.popsection")

/* A return as an indirect jump, to a table's entry. */
NAKED(by_ret, "lea 1f(%rip), %rax; test $1, %dil; jz 5f; lea 2f(%rip), %rax\n5: push %rax; ret\n"
	      "1: mov $10, %eax; jmp 3f\n2: mov $20, %eax; jmp 3f\n3: ret");
/* A call's address pushed by hand, then a jump. */
NAKED(by_push, "lea 1f(%rip), %rax; push %rax; jmp 2f\n1: add $5, %rax; ret\n2: mov %rdi, %rax; ret");
/* A call only to learn where one is. */
NAKED(by_pop, "call 1f\n1: pop %rax; lea 1b(%rip), %rcx; sub %rcx, %rax; add %rdi, %rax; ret");
/* The callee changes where it returns to: over an instruction of two bytes. */
NAKED(by_change, "call 1f; ud2; mov %rdi, %rax; ret\n1: addq $2, (%rsp); ret");
/* The callee drops its own return address and returns to its caller's caller. */
NAKED(by_swallow, "call 1f; mov $-1, %rax; ret\n1: pop %rcx; lea 7(%rdi), %rax; ret");
/* A return that takes its arguments off the stack. */
NAKED(by_immediate, "push %rdi; push %rdi; call 1f; ret\n1: mov 8(%rsp), %rax; add 16(%rsp), %rax; ret $16");
/* Two calls deep, one return back. */
NAKED(by_mismatch, "call 1f; ret\n1: call 2f; mov $-1, %rax; ret\n2: add $8, %rsp; mov %rdi, %rax; ret");
NAKED(by_leave, "enter $64, $0; mov %rdi, -8(%rbp); mov -8(%rbp), %rax; leave; ret");
/* Calls itself by an address in a register, in memory. */
NAKED(by_self, "test %rdi, %rdi; jz 1f; dec %rdi; lea by_self(%rip), %rax; push %rax; call *(%rsp)\n\t"
	       "pop %rcx; inc %rax; ret\n1: xor %eax, %eax; ret");
NAKED(by_prefix, "mov %rdi, %rax; rep ret");

int main(int argc, char **argv)
{
	const char *names[] = { "jump", "push", "pop", "changed", "swallowed", "immediate", "mismatch", "leave",
				"self", "prefixed" };
	long (*const functions[])(long) = { by_ret, by_push, by_pop, by_change, by_swallow, by_immediate, by_mismatch,
					    by_leave, by_self, by_prefix };
	long sum = 0;

	for (int i = 0; i < 10; i++)
		if (!strcmp(argv[argc - 1], names[i]))
			for (long k = 0; k < 100; k++)
				sum += functions[i](k);
	printf("sum %ld\n", sum);
	return done();
}
