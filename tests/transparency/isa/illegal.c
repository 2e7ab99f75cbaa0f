/* What this processor does not have raises SIGILL, which the program catches: masked instructions of AVX-512, with
 * and without memory; where it has them they run.  The end of a transaction outside of one faults in any case. */
#include "../own.h"

#include <setjmp.h>

static sigjmp_buf out;
static double memory[32];

static void on_illegal(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	siglongjmp(out, number);
}

static void try(int which)
{
	const int number = sigsetjmp(out, 1);

	if (number) {
		printf("%d: signal %d\n", which, number);
		return;
	}
	switch (which) {
	case 0:
		__asm__ volatile("vmulpd %%zmm6, %%zmm12, %%zmm3%{%%k1%}" ::: "memory");
		break;
	case 1:
		__asm__ volatile("vmovupd %%zmm1, %0%{%%k1%}" : "=m"(memory));
		break;
	case 2:
		__asm__ volatile("vmovdqu8 %%zmm1, %0%{%%k1%}" : "=m"(memory));
		break;
	case 3:
		__asm__ volatile("vpcompressd %%zmm1, %0%{%%k1%}" : "=m"(memory));
		break;
	case 5:
		__asm__ volatile(".byte 0x0f, 0x01, 0xd5" ::: "memory"); /* xend */
		break;
	case 4:
		__asm__ volatile("vpgatherdd (%0,%%zmm1,4), %%zmm2%{%%k1%}" :: "r"(memory) : "memory");
		break;
	}
	printf("%d: ran\n", which);
}

int main(void)
{
	handle(SIGILL, on_illegal, 0);
	handle(SIGSEGV, on_illegal, 0);
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile("kxorw %%k1, %%k1, %%k1" ::: "memory");
	for (int round = 0; round < 3; round++)
		for (int which = 0; which < 6; which++)
			try(which);
	return 0;
}
