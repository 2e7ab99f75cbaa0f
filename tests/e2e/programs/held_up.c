/* Threads that hold each other up, in ways that are known by construction:
 *
 *     held_up compute   the holder of a lock computes, two thirds of the time in price and one in count
 *     held_up beside    the same, while another thread computes all the time in elsewhere
 *     held_up sleep     the holder of the lock sleeps, in pause_here
 *     held_up chain     main waits for a condition from a thread that waits for the lock of one that sleeps */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define OWN __attribute__((noinline, noclone))

enum { THREADS = 3, TURNS = 15 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static volatile unsigned long result;
static volatile int done, turns;
static int sleeps;

static inline __attribute__((always_inline)) void burn(int ms)
{
	struct timespec t;
	double end = 0, now;
	unsigned long x = 1;

	do {
		for (int i = 0; i < 75000; i++)
			x = x * 6364136223846793005 + 1442695040888963407;
		result = x;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
		end = end > 0 ? end : now + 1e-3 * ms;
	} while (now < end);
}

OWN void price(void)
{
	burn(6);
}

OWN void count(void)
{
	burn(3);
}

OWN void elsewhere(void)
{
	while (!done)
		burn(5);
}

OWN void pause_here(void)
{
	nanosleep(&(struct timespec){0, 9000000}, NULL);
}

OWN void take_turn(void)
{
	pthread_mutex_lock(&lock);
	if (sleeps) {
		pause_here();
	} else {
		price();
		count();
	}
	pthread_mutex_unlock(&lock);
}

static void *take_turns(void *argument)
{
	for (int i = 0; i < TURNS; i++)
		take_turn();
	return argument;
}

static void *run_elsewhere(void *argument)
{
	elsewhere();
	return argument;
}

/* ---- the chain ---- */

OWN void hand_on(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&gate);
	turns++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&gate);
}

static void *hand_on_turns(void *argument)
{
	for (int i = 0; i < TURNS; i++) {
		hand_on();
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return argument;
}

OWN void await_turn(int turn)
{
	pthread_mutex_lock(&gate);
	while (turns <= turn)
		pthread_cond_wait(&changed, &gate);
	pthread_mutex_unlock(&gate);
}

static void *sleep_long(void *argument)
{
	while (!done) {
		take_turn();
		nanosleep(&(struct timespec){0, 300000}, NULL); /* so that others get the lock */
	}
	return argument;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "compute";
	const int chain = strcmp(what, "chain") == 0, beside = strcmp(what, "beside") == 0;
	pthread_t threads[THREADS], other;

	sleeps = chain || strcmp(what, "sleep") == 0;
	if (beside)
		pthread_create(&other, NULL, run_elsewhere, NULL);
	if (chain) {
		pthread_create(&threads[0], NULL, sleep_long, NULL);
		pthread_create(&threads[1], NULL, hand_on_turns, NULL);
		for (int i = 0; i < TURNS; i++)
			await_turn(i);
		done = 1;
	} else {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, take_turns, NULL);
	}
	for (int i = 0; i < (chain ? 2 : THREADS); i++)
		pthread_join(threads[i], NULL);
	done = 1;
	if (beside)
		pthread_join(other, NULL);
	puts("done");
	return 0;
}
