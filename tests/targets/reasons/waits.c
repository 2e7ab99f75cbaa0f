/* As kernels.c: two threads of which one waits busily for the other, at a barrier of OpenMP's library
 * and in a loop of its own.  Built with -O2 -fopenmp. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL __attribute__((noinline, noclone))

static volatile double sink;
static volatile int done;

KERNEL double work(int n)
{
	double s = 1;
	for (int i = 0; i < n; i++)
		s = s * 0.999999 + 0.5;
	return s;
}

/* One thread has all of the work. */
KERNEL void uneven(int n)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0)
			sink = work(n);
#pragma omp barrier
	}
}

KERNEL void spin(void)
{
	while (!done)
		__builtin_ia32_pause();
}

KERNEL void own_lock(int n)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0) {
			sink = work(n);
			done = 1;
		} else {
			spin();
		}
	}
}

int main(void)
{
	uneven(100000000);
	own_lock(100000000);
	return 0;
}
