/* Recursive tasks, tasks with dependences, a taskloop, and sections. */
#include <stdio.h>

static long fib(int n)
{
	long x, y;

	if (n < 2)
		return n;
	if (n < 12)
		return fib(n - 1) + fib(n - 2);
#pragma omp task shared(x)
	x = fib(n - 1);
#pragma omp task shared(y)
	y = fib(n - 2);
#pragma omp taskwait
	return x + y;
}

int main(void)
{
	long result = 0, chain = 1, loop = 0, parts[2] = {0, 0};

#pragma omp parallel
#pragma omp single
	{
		result = fib(24);
		for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : chain) shared(chain)
			chain = chain * 3 % 1000003 + i;
		}
#pragma omp taskgroup
#pragma omp taskloop grainsize(16) shared(loop)
		for (int i = 0; i < 1000; i++) {
#pragma omp atomic
			loop += i;
		}
	}
#pragma omp parallel sections
	{
#pragma omp section
		parts[0] = fib(15);
#pragma omp section
		parts[1] = fib(16);
	}
	printf("%ld %ld %ld %ld %ld\n", result, chain, loop, parts[0], parts[1]);
	return 0;
}
