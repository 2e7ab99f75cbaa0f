/* Forks in one thread while others compute, allocate, and come and go. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop;

static void *churn(void *unused)
{
	while (!stop) {
		free(malloc((size_t)work(100) * 500));
		work(500);
	}
	return unused;
}

static void *short_lived(void *unused)
{
	return unused;
}

static void *come_and_go(void *unused)
{
	pthread_t thread;

	while (!stop)
		if (pthread_create(&thread, NULL, short_lived, NULL) == 0)
			pthread_join(thread, NULL);
	return unused;
}

int main(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&threads[i], NULL, i ? churn : come_and_go, NULL) == 0);
	for (int i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			free(malloc(1000));
			_exit(work(100) + i);
		}
		CHECK(ended(pid) == 2 + i);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return done();
}
