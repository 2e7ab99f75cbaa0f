/* Threads at the same time.
 * @cases 300 700
 * @partly 700: more threads at once */
#include "../own.h"

#include <pthread.h>

static pthread_barrier_t barrier;
static int results[1000];

static void *wait_and_work(void *argument)
{
	pthread_barrier_wait(&barrier);
	*(int *)argument = work(200);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t threads[1000];
	pthread_attr_t small;
	int sum = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		MUST(pthread_create(&threads[i], &small, wait_and_work, &results[i]) == 0);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		sum += results[i];
	}
	printf("sum %d\n", sum);
	return done();
}
