/* Calls a kernel that times each of its calls itself, from within.  Usage: timed_calls HOW CALLS
 * SIZE THREADS.
 *
 * HOW: loop: SIZE turns of a chain of multiplications and additions.  chase: a chain through SIZE
 * lines of memory, in an order by chance that is another one for each call.  Each of THREADS
 * threads calls so often, while the first one, which has started them, waits: what a thread calls
 * that works for another's call is no call of its own.
 *
 * The clock is read behind the function's first instructions and before its last ones.  So a
 * breakpoint at the function's entry is over when the time begins, and one at its return comes when
 * it has ended.  What lies between the entry and the first reading, and between the last reading
 * and the return, is together what one reading takes, which is measured and added. Writes to
 * standard error: "calls N mean S clock S", in s. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { READINGS = 1001 };

struct line {
	struct line *next;
	char rest[56];
};

struct caller {
	struct line *lines;
	size_t *order;
	double sum;
};

static int chases, calls, size;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double loop(void)
{
	double x = 1;
	for (int i = 0; i < size; i++) {
		x = x * 0.999999 + 1e-6;
		__asm__ volatile("" : "+x"(x));
	}
	return x;
}

static const struct line *chase(const struct line *from)
{
	for (int i = 0; i < size; i++)
		from = from->next;
	__asm__ volatile("" : "+r"(from));
	return from;
}

/* The one that is watched; time of the call, but for one reading of the clock. */
__attribute__((noinline, noclone)) double kernel_timed(const struct line *from)
{
	const double begin = now();
	if (chases)
		(void)chase(from);
	else
		(void)loop();
	double end = now();
	__asm__ volatile("" : "+x"(end));
	return end - begin;
}

static void make_chain(struct caller *caller, unsigned *random)
{
	for (int i = size - 1; i > 0; i--) {
		*random = *random * 1664525 + 1013904223;
		const size_t k = (*random >> 4) % (unsigned)i, other = caller->order[k];
		caller->order[k] = caller->order[i];
		caller->order[i] = other;
	}
	for (int i = 0; i < size; i++)
		caller->lines[caller->order[i]].next =
			&caller->lines[caller->order[(i + 1) % size]];
}

static void *call_all(void *context)
{
	struct caller *caller = context;
	unsigned random = 1;
	if (chases) {
		caller->lines =
			aligned_alloc(4096, ((size_t)size * sizeof(struct line) + 4095) & ~4095ul);
		caller->order = malloc((size_t)size * sizeof(size_t));
		if (!caller->lines || !caller->order)
			exit(1);
		for (int i = 0; i < size; i++)
			caller->order[i] = (size_t)i;
	}
	for (int i = 0; i < calls; i++) {
		if (chases)
			make_chain(caller, &random);
		caller->sum += kernel_timed(caller->lines);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* From one reading to the next: what a reading takes, as the median. */
static double cost_of_reading(void)
{
	double times[READINGS];
	for (int i = 0; i < READINGS; i++) {
		const double begin = now();
		times[i] = now() - begin;
	}
	qsort(times, READINGS, sizeof(*times), compare);
	return times[READINGS / 2];
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	chases = !strcmp(argv[1], "chase");
	calls = atoi(argv[2]);
	size = atoi(argv[3]);
	const int threads = atoi(argv[4]);
	const double clock = cost_of_reading();
	pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
	struct caller *callers = calloc((size_t)threads, sizeof(*callers));
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, call_all, &callers[i]))
			return 1;
	double sum = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		sum += callers[i].sum;
	}
	const int n = calls * threads;
	fprintf(stderr, "calls %d mean %.9f clock %.9f\n", n, sum / n + clock, clock);
	return 0;
}
