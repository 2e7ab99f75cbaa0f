/* One of two threads works, and the other gives up the processor again and again until that is done. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int done;

__attribute__((noinline)) static double add_terms(long n)
{
	double sum = 0;

	for (long i = 0; i < n; i++)
		sum = sum * 0.5 + (double) i;
	return sum;
}

__attribute__((noinline)) static void *stay_near(void *unused)
{
	while (!atomic_load(&done))
		sched_yield();
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, stay_near, NULL))
		return 1;
	double sum = add_terms(150000000);
	atomic_store(&done, 1);
	pthread_join(thread, NULL);
	printf("%g\n", sum);
	return 0;
}
