/* Parallel regions whose imbalance is known by construction:
 *
 *     regions even | uneven | turns | idle | locked | tasks | barrier
 *
 * Each of two threads works for so many ms in each of 20 executions: 20 and 20; 30 and 10; 30 and 10 the one time, 10 and
 * 30 the next; 30 and none; 20 and 20 of which half are critical; 20 in tasks for each; 30 and 10 between barriers of POSIX
 * threads, without OpenMP.  What both wait for each other for is all that is not work. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OWN __attribute__((noinline))

enum { TURNS = 20 };

static volatile unsigned long result;
static pthread_barrier_t barrier;

OWN void work(int ms)
{
	struct timespec t;
	double end = 0, now;
	unsigned long x = 1;

	do {
		for (int i = 0; i < 25000; i++)
			x = x * 6364136223846793005 + 1442695040888963407;
		result = x;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
		end = end > 0 ? end : now + 1e-3 * ms;
	} while (now < end);
}

OWN void solve(int first, int second)
{
#pragma omp parallel num_threads(2)
	{
		int ms = omp_get_thread_num() ? second : first;

		if (ms)
			work(ms);
	}
}

OWN void solve_locked(void)
{
#pragma omp parallel num_threads(2)
	for (int i = 0; i < 2; i++) {
		work(5);
#pragma omp critical
		work(5);
	}
}

OWN void solve_tasks(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
	for (int i = 0; i < 8; i++)
#pragma omp task
		work(5);
}

OWN void advance(int ms)
{
	for (int i = 0; i < TURNS; i++) {
		work(ms);
		pthread_barrier_wait(&barrier);
	}
}

static void *advance_thread(void *argument)
{
	advance(10);
	return argument;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "even";

	if (strcmp(what, "barrier") == 0) {
		pthread_t thread;

		pthread_barrier_init(&barrier, NULL, 2);
		pthread_create(&thread, NULL, advance_thread, NULL);
		advance(30);
		pthread_join(thread, NULL);
		return 0;
	}
	for (int i = 0; i < TURNS; i++) {
		if (strcmp(what, "even") == 0)
			solve(20, 20);
		else if (strcmp(what, "uneven") == 0)
			solve(30, 10);
		else if (strcmp(what, "turns") == 0)
			solve(i % 2 ? 10 : 30, i % 2 ? 30 : 10);
		else if (strcmp(what, "idle") == 0)
			solve(30, 0);
		else if (strcmp(what, "locked") == 0)
			solve_locked();
		else
			solve_tasks();
		work(5); /* alone: no loss of the region */
	}
	return 0;
}
