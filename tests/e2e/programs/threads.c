/* Threads by the hundred: created and joined, detached, cancelled, with thread-local storage,
 * condition variables and destructors.  The argument is their number. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Thread_local uint64_t local = 7;
static atomic_int destroyed, detached_done, cleaned;
static pthread_key_t key;

static void destroy(void *value)
{
	destroyed += (int)(intptr_t)value;
}

static void *work(void *argument)
{
	double x = 1;

	local += (uint64_t)(intptr_t)argument;
	pthread_setspecific(key, (void *)1);
	for (int i = 0; i < 1000; i++)
		x = x * 0.5 + local;
	return (void *)(intptr_t)(x + 0.5);
}

static void joined(int n)
{
	uint64_t total = 0;
	pthread_t threads[20];

	for (int done = 0; done < n; done += 20) {
		for (int i = 0; i < 20; i++)
			if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(done + i)))
				exit(1);
		for (int i = 0; i < 20; i++) {
			void *value;

			pthread_join(threads[i], &value);
			total += (uint64_t)(intptr_t)value;
		}
	}
	printf("joined: total %llu, destroyed %d, local %llu\n", (unsigned long long)total, destroyed,
	       (unsigned long long)local);
}

static void *detached(void *unused)
{
	work(unused);
	detached_done++;
	pthread_exit(NULL);
}

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *cancelled(void *unused)
{
	volatile double x = 1;

	(void)unused;
	pthread_cleanup_push(clean, NULL);
	for (;;) {
		for (int i = 0; i < 1000; i++)
			x = x * 0.5 + 1;
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *sleeps(void *unused)
{
	pthread_cleanup_push(clean, NULL);
	sleep(1000);
	pthread_cleanup_pop(0);
	return unused;
}

static void ended_otherwise(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++) {
		if (pthread_create(&thread, NULL, detached, NULL))
			exit(1);
		pthread_detach(thread);
	}
	while (detached_done < 20)
		usleep(1000);
	for (int i = 0; i < 10; i++) {
		void *value;

		if (pthread_create(&thread, NULL, i % 2 ? cancelled : sleeps, NULL))
			exit(1);
		usleep(2000);
		pthread_cancel(thread);
		pthread_join(thread, &value);
		if (value != PTHREAD_CANCELED)
			printf("not cancelled\n");
	}
	printf("detached %d, cleaned up %s\n", detached_done, cleaned >= 5 ? "yes" : "no");
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *takes_turns(void *argument)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % 2 != (int)(intptr_t)argument)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	pthread_key_create(&key, destroy);
	joined(argc > 1 ? atoi(argv[1]) : 100);
	ended_otherwise();
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, takes_turns, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("turns %d\n", turn);
	return 0;
}
