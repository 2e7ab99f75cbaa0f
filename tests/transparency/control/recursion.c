/* Recursion as deep as the stack allows, and returns from all of it; a bigger stack in a thread. */
#include "../own.h"

#include <pthread.h>

NOINLINE static long dive(long depth, volatile long *last)
{
	*last = depth;
	return depth ? dive(depth - 1, last) + 1 : 0;
}

static void *deeper(void *unused)
{
	volatile long last;

	printf("%ld\n", dive(1500000, &last));
	return unused;
}

int main(void)
{
	pthread_attr_t large;
	pthread_t thread;
	volatile long last;

	printf("%ld\n", dive(100000, &last));
	pthread_attr_init(&large);
	pthread_attr_setstacksize(&large, 200 << 20);
	MUST(pthread_create(&thread, &large, deeper, NULL) == 0);
	pthread_join(thread, NULL);
	return done();
}
