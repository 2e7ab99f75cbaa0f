/* Eight threads that do nothing but sleep, beside the first one, which works. */
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 8 };

static void *sleeps(void *argument)
{
	usleep(10000);
	return argument;
}

int main(void)
{
	pthread_t threads[THREADS];
	volatile double x = 1;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sleeps, NULL);
	for (long i = 0; i < 20000000; i++)
		x = x * 0.5 + 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
