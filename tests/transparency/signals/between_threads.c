/* Signals sent from thread to thread while both compute, wait, and end. */
#include "../own.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int received, ready, stop, bad;
static _Thread_local int is_worker;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	bad += !is_worker || info->si_code != SI_TKILL;
	received++;
}

static void *computes(void *unused)
{
	is_worker = 1;
	ready++;
	while (!stop)
		bad += work(500) != 2;
	return unused;
}

int main(void)
{
	pthread_t threads[3];

	handle(SIGUSR1, on_signal, SA_RESTART);
	for (int round = 0; round < 10; round++) {
		stop = 0;
		received = 0;
		for (int i = 0; i < 3; i++)
			MUST(pthread_create(&threads[i], NULL, computes, NULL) == 0);
		while (ready < 3 * (round + 1))
			usleep(100);
		for (int i = 0; i < 3; i++)
			pthread_kill(threads[i], SIGUSR1);
		while (received < 3)
			usleep(100);
		stop = 1;
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	printf("bad %d\n", bad);
	return done();
}
