/* Threads that only yield, and threads that spin on each other. */
#include "../own.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int turn, yields;

static void *yield(void *unused)
{
	for (int i = 0; i < 10000; i++)
		yields += sched_yield() == 0;
	return unused;
}

static void *take_turns(void *argument)
{
	for (int i = 0; i < 300; i++) {
		while (turn % 3 != (int)(intptr_t)argument)
			sched_yield();
		turn++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, i < 3 ? yield : take_turns, (void *)(intptr_t)(i - 3));
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	printf("yields %d turns %d\n", yields, turn);
	return done();
}
