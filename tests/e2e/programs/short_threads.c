/* Threads that end one after the other; each calls the same 10,000 small functions, which make one
 * addition of 8 bytes from memory each, and fills 1000 bytes with one instruction. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__asm__(".text\n.type functions, @function\nfunctions:\n"
	".rept 10000\n\t.p2align 4\n\taddsd (%rdi), %xmm0\n\tret\n.endr\n"
	".size functions, . - functions\n"
	".globl calls\n.type calls, @function\ncalls:\n"
	".set at, functions\n.rept 10000\n\tcall at\n\t.set at, at + 16\n.endr\n\tret\n"
	".size calls, . - calls\n");
extern void calls(const double *value);

static void *run(void *value)
{
	char bytes[1000], *to = bytes;
	unsigned long n = sizeof(bytes);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
	calls(value);
	return NULL;
}

int main(int argc, char **argv)
{
	double value = 1;
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, run, &value) || pthread_join(thread, NULL))
			return 1;
	}
	puts("done");
	return 0;
}
