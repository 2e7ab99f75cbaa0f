/* Signals between threads that compute all the while. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 3, SIGNALS = 100 };

static atomic_int received[THREADS], stop, wrong;
static _Thread_local int self = -1;
static sem_t handled;

static void on_signal(int number)
{
	(void)number;
	if (self < 0)
		wrong++;
	else
		received[self]++;
	sem_post(&handled);
}

static void *compute(void *argument)
{
	double expected = 0;

	self = (int)(long)argument;
	sem_post(&handled);
	while (!stop) {
		double x = 1;

		for (int i = 0; i < 3000; i++)
			x = x * 0.999 + 0.5;
		if (expected != 0 && x != expected)
			wrong++;
		expected = x;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	sem_init(&handled, 0, 0);
	signal(SIGUSR1, on_signal);
	for (long i = 0; i < THREADS; i++) {
		pthread_create(&threads[i], NULL, compute, (void *)i);
		while (sem_wait(&handled))
			;
	}
	for (int i = 0; i < SIGNALS; i++)
		for (int k = 0; k < THREADS; k++) {
			pthread_kill(threads[k], SIGUSR1);
			while (sem_wait(&handled))
				;
		}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d %d %d, %d wrong\n", received[0], received[1], received[2], wrong);
	return wrong != 0;
}
