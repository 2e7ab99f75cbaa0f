/* Thousands of threads that end at once, one after the other and some at a time; some overtake the
 * one that made them. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int sum;

static void *add(void *argument)
{
	sum += (int)(intptr_t)argument;
	return argument;
}

int main(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 1500; i++) {
		void *value;

		MUST(pthread_create(threads, NULL, add, (void *)1) == 0);
		MUST(pthread_join(threads[0], &value) == 0 && value == (void *)1);
	}
	for (int i = 0; i < 190; i++) {
		for (int k = 0; k < 8; k++)
			MUST(pthread_create(&threads[k], NULL, add, (void *)(intptr_t)k) == 0);
		for (int k = 0; k < 8; k++)
			pthread_join(threads[k], NULL);
	}
	printf("sum %d\n", sum);
	return done();
}
