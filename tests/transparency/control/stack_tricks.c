/* The stack pointer used in odd ways: switched, as a data register, into its own red zone, misaligned.
 * @cases switch data redzone misaligned callrsp poprsp */
#include "../own.h"

static char other[65536] __attribute__((aligned(16)));

NOINLINE static long on_other_stack(long n)
{
	long result;

	__asm__ volatile("mov %%rsp, %%rbx; mov %2, %%rsp; call *%3; mov %%rbx, %%rsp"
			 : "=a"(result) : "D"(n), "r"(other + sizeof(other)), "r"(work) : "rbx", "rcx", "rdx", "rsi", "r8", "r9",
			   "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2");
	return result;
}

/* Sums an array by popping it. */
NOINLINE static long by_pops(long *array, long n)
{
	long sum = 0;

	__asm__ volatile("mov %%rsp, %%r8; mov %2, %%rsp\n1: pop %%rax; add %%rax, %0; dec %1; jnz 1b\n\tmov %%r8, %%rsp"
			 : "+r"(sum), "+r"(n) : "r"(array) : "rax", "r8", "memory", "cc");
	return sum;
}

extern long red_zone(long), misaligned(long), call_through_rsp(long), pop_rsp(long);
__asm__("red_zone: mov %rdi, -8(%rsp); lea 1(%rdi), %rax; mov %rax, -128(%rsp); xor %eax, %eax\n\t"
	"jmp 1f\n1: add -8(%rsp), %rax; jmp 2f\n2: add -128(%rsp), %rax; ret\n"
	"misaligned: sub $3, %rsp; push %rdi; call 1f; pop %rdi; add $3, %rsp; ret\n1: mov 8(%rsp), %rax; ret\n"
	"call_through_rsp: lea 1f(%rip), %rax; push %rax; call *(%rsp); pop %rcx; ret\n1: mov %rdi, %rax; ret\n"
	"pop_rsp: lea -64(%rsp), %rax; mov %rsp, (%rax); mov %rax, %rsp; pop %rsp; mov %rdi, %rax; ret");

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	static long array[1000];
	long sum = 0;

	for (long i = 0; i < 1000; i++)
		array[i] = i;
	for (long i = 0; i < 50; i++)
		sum += !strcmp(how, "switch")	  ? on_other_stack(200) :
		       !strcmp(how, "data")	  ? by_pops(array, 1000) :
		       !strcmp(how, "redzone")	  ? red_zone(i) :
		       !strcmp(how, "misaligned") ? misaligned(i) :
		       !strcmp(how, "callrsp")	  ? call_through_rsp(i) :
						    pop_rsp(i);
	printf("sum %ld\n", sum);
	return done();
}
