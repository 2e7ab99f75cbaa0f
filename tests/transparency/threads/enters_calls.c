/* Threads compute a little, so that each is to change its code, and enter a call that a stop would interrupt: it never
 * is, wherever the stop meets them. */
#include "../own.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <time.h>

static atomic_long calls;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *enters(void *unused)
{
	const int epoll = epoll_create1(0);
	struct epoll_event event;
	const double start = now();

	(void)unused;
	while (now() - start < 1.2) {
		work(300);
		if (epoll_wait(epoll, &event, 1, calls % 8 ? 0 : 1) != 0) {
			printf("a call ends with %s\n", strerror(errno));
			failures++;
		}
		calls++;
	}
	close(epoll);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, enters, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK(calls > 50);
	return done();
}
