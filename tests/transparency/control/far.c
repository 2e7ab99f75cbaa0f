/* Far transfers and returns from interrupts: rare, but processors run them.
 * @cases iret lret
 * @partly far */
#include "../own.h"

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	long sum = 0;

	for (int i = 0; i < 20; i++)
		if (!strcmp(how, "iret"))
			__asm__ volatile("mov %%rsp, %%rcx; mov %%ss, %%edx; push %%rdx; push %%rcx; pushf; mov %%cs, %%edx\n\t"
					 "push %%rdx; lea 1f(%%rip), %%rdx; push %%rdx; iretq\n1: inc %0"
					 : "+r"(sum) : : "rcx", "rdx", "memory", "cc");
		else
			__asm__ volatile("sub $128, %%rsp; mov %%cs, %%edx; push %%rdx; lea 1f(%%rip), %%rdx; push %%rdx\n\t"
					 "lretq\n1: add $128, %%rsp; inc %0" : "+r"(sum) : : "rdx", "memory", "cc");
	printf("sum %ld, work %d\n", sum, work(100));
	return done();
}
