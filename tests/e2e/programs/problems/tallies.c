/* Two threads tally the digits of random numbers, each for itself.  Its problem: false sharing.  The two tallies lie side
 * by side, and each store takes the line away from the other thread. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 2, NUMBERS = 100000000 };

static struct {
	volatile unsigned even, odd;
} tallies[THREADS] __attribute__((aligned(64)));

static void *tally(void *argument)
{
	unsigned thread = *(unsigned *) argument, x = thread + 1;

	for (int i = 0; i < NUMBERS; i++) {
		x = x * 1103515245u + 12345u;
		tallies[thread].odd += x >> 31;
		tallies[thread].even += ~x >> 31;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS] = {0, 1};

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, tally, &numbers[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u %u\n", tallies[0].even + tallies[1].even, tallies[0].odd + tallies[1].odd);
	return 0;
}
