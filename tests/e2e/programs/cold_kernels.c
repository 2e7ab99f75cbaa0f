/* Calls each kernel so many times on the same arrays, which fit in the caches.  Usage: cold_kernels
 * CALLS [threads]: then another thread uses the arrays between the calls. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline, noclone))

enum { N = 4096, SIDE = 100 };

static double *a, *b, *c;

KERNEL double kernel_sum(const double *from)
{
	double sum = 0;
	for (long i = 0; i < N; i++)
		sum += from[i];
	return sum;
}

KERNEL void kernel_copy(double *to, const double *from)
{
	for (long i = 0; i < N; i++)
		to[i] = from[i];
}

KERNEL void kernel_dgemm(double *to, const double *left, const double *right)
{
	for (long i = 0; i < SIDE; i++)
		for (long k = 0; k < SIDE; k++)
			for (long j = 0; j < SIDE; j++)
				to[i * SIDE + j] += left[i * SIDE + k] * right[k * SIDE + j];
}

static void *touch(void *unused)
{
	for (long i = 0; i < SIDE * SIDE; i++)
		a[i] += b[i] + c[i];
	return unused;
}

int main(int argc, char **argv)
{
	const int calls = atoi(argv[1]);
	volatile double sum = 0;
	a = aligned_alloc(4096, 1 << 17), b = aligned_alloc(4096, 1 << 17), c = aligned_alloc(4096, 1 << 17);
	if (!a || !b || !c)
		return 1;
	memset(a, 0, 1 << 17);
	memset(b, 0, 1 << 17);
	memset(c, 0, 1 << 17);
	for (int i = 0; i < calls; i++) {
		pthread_t thread;
		if (argc > 2 && (pthread_create(&thread, NULL, touch, NULL) || pthread_join(thread, NULL)))
			return 1;
		sum += kernel_sum(a);
		kernel_copy(b, a);
		kernel_dgemm(c, a, b);
	}
	return sum != 0;
}
