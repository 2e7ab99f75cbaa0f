/* Two threads, each with an array of its own: together twice what one moves.  Both print nothing but the
 * truth: bytes read and written by all threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 17, REPEATS = 4 };

static __attribute__((noinline, noclone)) void scale(double *array)
{
	for (long i = 0; i < N; i++)
		array[i] *= 3;
}

static void *work(void *array)
{
	for (int i = 0; i < REPEATS; i++)
		scale(array);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	double *arrays[2], *other = malloc(8 * N), s = 0;
	for (int t = 0; t < 2; t++) {
		arrays[t] = malloc(8 * N);
		for (long i = 0; i < N; i++)
			arrays[t][i] = other[i] = 1;
	}
	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, work, arrays[t]);
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	for (long i = 0; i < N; i++)
		s += other[i];
	printf("scale %.0f %.0f\n", s * 0 + 2 * REPEATS * 8.0 * N, 2 * REPEATS * 8.0 * N);
	return 0;
}
