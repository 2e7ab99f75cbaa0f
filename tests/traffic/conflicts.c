/* Loads from so many places, WORDS doubles apart, again and again: conflicts WORDS PLACES TIMES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static double conflicts(volatile const double *a, long words, long places, long times)
{
	double sum = 0;
	for (long k = 0; k < times; k++)
		for (long i = 0; i < places; i++)
			sum += a[i * words];
	return sum;
}

int main(int argc, char **argv)
{
	const long words = argc > 3 ? atol(argv[1]) : 512, places = argc > 3 ? atol(argv[2]) : 64;
	const long times = argc > 3 ? atol(argv[3]) : 1000;
	const size_t bytes = ((size_t)(words * places) * sizeof(double) | 0xfffff) + 1;
	double *a = aligned_alloc(1 << 20, bytes);
	if (!a)
		return 1;
	memset(a, 0, bytes);
	printf("%g\n", conflicts(a, words, places, times));
	free(a);
	return 0;
}
