/* Threads that do nothing but work, through calls and memory, for a while. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SIZE = 1 << 16, ROUNDS = 60 };

__attribute__((noinline)) static long add(const int *numbers, int step)
{
	long sum = 0;
	for (int i = 0; i < SIZE; i += step)
		sum += numbers[i];
	return sum;
}

static void *works(void *argument)
{
	int *numbers = calloc(SIZE, sizeof(*numbers));
	long sum = 0;
	for (int round = 0; numbers && round < ROUNDS; round++)
		for (int step = 1; step < 20; step++)
			sum += add(numbers, step) + (numbers[round] = round);
	free(numbers);
	*(long *)argument = sum;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long sums[THREADS] = {0};
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, works, &sums[i]))
			return 99;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
	return 0;
}
