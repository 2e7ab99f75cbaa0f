/* Hands jobs to a worker one by one.  Its problem: it looks for the end of each job only every 20 ms and sleeps in
 * between, while the worker, which is ready after 2 ms, looks for the next one in the same way. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { JOBS = 20, OVER = -2, NONE = -1 };

static atomic_int job = NONE;
static double results[JOBS];

static double compute(int seed)
{
	double value = seed;

	for (int i = 0; i < 1000000; i++)
		value = value * 0.5 + 1;
	return value;
}

static void *work(void *argument)
{
	for (int mine; (mine = atomic_load(&job)) != OVER;) {
		if (mine == NONE) {
			usleep(5000);
			continue;
		}
		results[mine] = compute(mine);
		atomic_store(&job, NONE);
	}
	return argument;
}

int main(void)
{
	pthread_t thread;
	double sum = 0;

	pthread_create(&thread, NULL, work, NULL);
	for (int i = 0; i < JOBS; i++) {
		atomic_store(&job, i);
		while (atomic_load(&job) != NONE)
			usleep(20000);
		sum += results[i];
	}
	atomic_store(&job, OVER);
	pthread_join(thread, NULL);
	printf("%g\n", sum);
	return 0;
}
