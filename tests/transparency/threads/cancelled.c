/* A thread that computes is cancelled at any instruction; one in a system call, in that. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int started, cleaned;

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *compute(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, NULL);
	started = 1;
	for (;;)
		work(10000);
	pthread_cleanup_pop(0);
	return unused;
}

static void *reads(void *pipe)
{
	char byte;

	pthread_cleanup_push(clean, NULL);
	started = 1;
	while (read(*(int *)pipe, &byte, 1))
		;
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	int ends[2];
	pthread_t thread;

	MUST(pipe(ends) == 0);
	for (int i = 0; i < 40; i++) {
		void *value;

		started = 0;
		MUST(pthread_create(&thread, NULL, i % 2 ? reads : compute, ends) == 0);
		while (!started)
			usleep(200);
		usleep(300);
		pthread_cancel(thread);
		pthread_join(thread, &value);
		CHECK(value == PTHREAD_CANCELED);
	}
	printf("cleaned %d\n", cleaned);
	return done();
}
