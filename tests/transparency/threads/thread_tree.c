/* Threads that make threads that make threads. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int leaves;
static _Thread_local int depth = 99;

static void *grow(void *argument)
{
	pthread_t children[3];

	CHECK(depth == 99);
	depth = (int)(intptr_t)argument;
	if (depth == 0) {
		leaves += work(100) / 2;
		return NULL;
	}
	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&children[i], NULL, grow, (void *)(intptr_t)(depth - 1)) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(children[i], NULL);
	CHECK(depth == (int)(intptr_t)argument);
	return NULL;
}

int main(void)
{
	grow((void *)4);
	printf("leaves %d\n", leaves);
	return done();
}
