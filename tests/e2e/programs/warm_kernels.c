/* Calls kernels whose use of the caches is known.  Usage: warm_kernels CALLS: the arrays of
 * kernel_sum and kernel_threads fit in an L3 of 4 MB, that of kernel_large is twice as large, and between
 * the calls all of that is thrown out.  warm_kernels CALLS again: kernel_left is left by longjmp, and
 * called again.  warm_kernels CALLS exit: the program ends in a call. */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline, noclone))

enum { FIT = 1 << 20, LARGE = 8 << 20, OTHERS = 16 << 20, THREADS = 2 }; /* bytes */

static jmp_buf out;

KERNEL int64_t kernel_sum(const int64_t *from, long n)
{
	int64_t sum = 0;
	for (long i = 0; i < n; i++)
		sum += from[i];
	return sum;
}

KERNEL void kernel_large(int64_t *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i]++;
}

KERNEL void others(int64_t *to, long n)
{
	for (long i = 0; i < n; i += 8)
		to[i]++;
}

static void *sum_part(void *part)
{
	return (void *)(intptr_t)kernel_sum(part, FIT / THREADS / sizeof(int64_t));
}

KERNEL int kernel_threads(char *from)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, sum_part, from + i * (FIT / THREADS)))
			return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_join(threads[i], NULL))
			return 1;
	return 0;
}

KERNEL void kernel_left(int64_t *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i]++;
	longjmp(out, 1);
}

KERNEL void kernel_exit(int64_t *to, long n)
{
	for (long i = 0; i < n; i++)
		to[i]++;
	exit(0);
}

int main(int argc, char **argv)
{
	const int calls = atoi(argv[1]);
	char *memory = aligned_alloc(4096, FIT + LARGE + OTHERS);
	int64_t *fit = (int64_t *)memory, *large = (int64_t *)(memory + FIT),
		*rest = (int64_t *)(memory + FIT + LARGE);
	volatile int64_t sum = 0;
	volatile int i = 0;
	if (!memory)
		return 1;
	memset(memory, 0, FIT + LARGE + OTHERS);
	if (argc > 2 && !strcmp(argv[2], "again")) {
		setjmp(out);
		if (i++ < calls)
			kernel_left(fit, FIT / sizeof(*fit));
		return 0;
	}
	if (argc > 2)
		kernel_exit(fit, FIT / sizeof(*fit));
	for (; i < calls; i++) {
		others(rest, OTHERS / sizeof(*rest));
		sum += kernel_sum(fit, FIT / sizeof(*fit));
		others(rest, OTHERS / sizeof(*rest));
		kernel_large(large, LARGE / sizeof(*large));
		others(rest, OTHERS / sizeof(*rest));
		if (kernel_threads(memory))
			return 1;
	}
	return sum != 0;
}
