/* Reductions, schedules, critical and atomic updates; all results are whole numbers in doubles, so that
 * they do not depend on the order of the additions. */
#include <math.h>
#include <omp.h>
#include <stdio.h>

#define N 200000

static double a[N];

int main(void)
{
	double sum = 0, largest = 0;
	long atomic = 0, critical = 0;

#pragma omp parallel for schedule(static)
	for (int i = 0; i < N; i++)
		a[i] = floor(sqrt((double)i)) * 3;
#pragma omp parallel for reduction(+ : sum) reduction(max : largest) schedule(dynamic, 100)
	for (int i = 0; i < N; i++) {
		sum += a[i];
		largest = a[i] > largest ? a[i] : largest;
	}
#pragma omp parallel for schedule(guided)
	for (int i = 0; i < 5000; i++) {
#pragma omp atomic
		atomic += i;
#pragma omp critical
		critical += i % 7;
	}
	for (int round = 0; round < 200; round++) {
#pragma omp parallel for reduction(+ : sum)
		for (int i = 0; i < 1000; i++)
			sum += a[i];
	}
	printf("%.0f %.0f %ld %ld %d\n", sum, largest, atomic, critical, omp_get_max_threads());
	return 0;
}
