/* What a program does that a sanitizer watches over: blocks of the heap come and go in threads. */
#include "../own.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50, BLOCKS = 200 };

static void *allocates(void *argument)
{
	char *blocks[BLOCKS];
	intptr_t sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			blocks[i] = malloc((size_t)(1 + i * round));
			MUST(blocks[i]);
			blocks[i][0] = (char)i;
		}
		for (int i = 0; i < BLOCKS; i++) {
			sum += blocks[i][0];
			free(blocks[i]);
		}
	}
	return (void *)(sum + (intptr_t)argument);
}

int main(void)
{
	pthread_t threads[THREADS];
	void *sum;

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, allocates, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < THREADS; i++) {
		MUST(pthread_join(threads[i], &sum) == 0);
		printf("thread %d: %d\n", i, (int)(intptr_t)sum);
	}
	printf("work: %d\n", work(50));
	return done();
}
