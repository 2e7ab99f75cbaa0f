/* A program that steps itself: each instruction of a stretch raises SIGTRAP.
 * @partly trap flag */
#include "../own.h"

static volatile int steps;

static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	if (++steps == 100)
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
}

int main(void)
{
	uint64_t sum = 0;

	handle(SIGTRAP, on_trap, 0);
	__asm__ volatile("pushf; orl $0x100, (%%rsp); popf\n\t"
			 "add $1, %0; add $2, %0; add $3, %0; add $4, %0\n\t"
			 "pushf; andl $0xfffffeff, (%%rsp); popf" : "+r"(sum) : : "cc", "memory");
	printf("steps %d, sum %llu\n", steps, (unsigned long long)sum);
	return done();
}
