/* Two threads that hand one byte back and forth, and compute between: two thirds of the time that they compute in price, a
 * third in count.
 *
 *     switching MS TURNS   computes so many ms without a switch first, then takes so many turns
 *
 * Prints JSON: the seconds of price, of count (the calling threads' own clocks), and of the whole process. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))

enum { UNIT = 8000 };

static int there[2], back[2];
static volatile unsigned long result;
static double price_s, count_s;

static double clock_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(int n)
{
	unsigned long x = result;
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	result = x;
}

OWN void price(int times)
{
	burn(2 * times * UNIT);
}

OWN void count(int times)
{
	burn(times * UNIT);
}

static void compute(int times)
{
	const double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
	price(times);
	const double between = clock_of(CLOCK_THREAD_CPUTIME_ID);
	count(times);
	price_s += between - start;
	count_s += clock_of(CLOCK_THREAD_CPUTIME_ID) - between;
}

static void *answer(void *nothing)
{
	char byte;
	while (read(there[0], &byte, 1) == 1) {
		compute(1);
		if (write(back[1], &byte, 1) != 1)
			break;
	}
	return nothing;
}

int main(int n, char **words)
{
	pthread_t thread;
	char byte = 1;
	if (n != 3 || pipe(there) || pipe(back))
		return 1;
	for (double end = clock_of(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * atoi(words[1]); clock_of(CLOCK_THREAD_CPUTIME_ID) < end;)
		compute(25);
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int i = atoi(words[2]); i > 0; i--)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			return 1;
	close(there[1]);
	pthread_join(thread, NULL);
	printf("{\"price_s\": %.6f, \"count_s\": %.6f, \"cpu_s\": %.6f}\n", price_s, count_s, clock_of(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
