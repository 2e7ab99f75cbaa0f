/* Calls a kernel and times each call itself.  Usage: call_times HOW CALLS TURNS [THREADS].
 *
 * TURNS: of its loop, some 4 ns each, in every call.  HOW: calls: nothing else.  threads: THREADS threads call, the
 * first one waits.  nested: each call calls itself twice.  left: each second call is left by longjmp.  tail: the kernel
 * ends with a jump to another function.  places: it does, and is called from five places.  exit: each thread ends within its second call.  fork: a child calls, too.
 * exec: it executes itself anew in the end.
 *
 * Writes to standard error, for calls that return: "calls N sum S median M", in s, by clock_gettime(2). */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KERNEL __attribute__((noinline, noclone))

static int turns, calls, ends_within;
static __thread int depth;
static __thread jmp_buf *out;

static double loop(void)
{
	double x = 1;
	for (int i = 0; i < turns; i++) {
		x = x * 0.999999 + 1e-6;
		__asm__ volatile("" : "+x"(x));
	}
	return x;
}

KERNEL double kernel_rest(double x)
{
	__asm__ volatile("" : "+x"(x));
	return x + 1;
}

/* One `ret` (gcc joins them), whichever way it is left. */
KERNEL double kernel_time(double x)
{
	x += loop();
	if (depth) {
		depth--;
		x += kernel_time(x);
	}
	if (out)
		longjmp(*out, 1);
	if (ends_within)
		pthread_exit(NULL);
	__asm__ volatile("" : "+x"(x));
	return x;
}

KERNEL double kernel_tail(double x)
{
	return kernel_rest(x + loop());
}

/* The comments keep the compiler from making one place of them. */
static void call_from(int place)
{
	if (place == 0)
		__asm__ volatile("# 0" ::"x"(kernel_tail(0)));
	else if (place == 1)
		__asm__ volatile("# 1" ::"x"(kernel_tail(0)));
	else if (place == 2)
		__asm__ volatile("# 2" ::"x"(kernel_tail(0)));
	else if (place == 3)
		__asm__ volatile("# 3" ::"x"(kernel_tail(0)));
	else
		__asm__ volatile("# 4" ::"x"(kernel_tail(0)));
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct caller {
	const char *how;
	double *times;
	int n;
};

static void call(struct caller *caller, int number)
{
	jmp_buf place;
	const int left = !strcmp(caller->how, "left") && number % 2;
	depth = !strcmp(caller->how, "nested") ? 2 : 0;
	out = left ? &place : NULL;
	ends_within = !strcmp(caller->how, "exit") && number == 1;
	const double begin = now();
	if (!left || !setjmp(place)) {
		if (!strcmp(caller->how, "tail"))
			(void)kernel_tail(0);
		else if (!strcmp(caller->how, "places"))
			call_from(number % 5);
		else
			(void)kernel_time(0);
	}
	if (!left)
		caller->times[caller->n++] = now() - begin;
	out = NULL;
}

static void *call_all(void *context)
{
	for (int i = 0; i < calls; i++)
		call(context, i);
	return NULL;
}

static void call_in_threads(const char *how, int threads, struct caller *sum)
{
	pthread_t *ids = calloc((size_t)threads, sizeof(*ids));
	struct caller *callers = calloc((size_t)threads, sizeof(*callers));
	for (int i = 0; i < threads; i++) {
		callers[i] = (struct caller){how, calloc((size_t)calls, sizeof(double)), 0};
		if (pthread_create(&ids[i], NULL, call_all, &callers[i]))
			exit(1);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		memcpy(sum->times + sum->n, callers[i].times, (size_t)callers[i].n * sizeof(double));
		sum->n += callers[i].n;
	}
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const char *how = argv[1];
	const int threads = argc > 4 ? atoi(argv[4]) : 1;
	calls = atoi(argv[2]);
	turns = atoi(argv[3]);
	struct caller caller = {how, calloc((size_t)(calls * threads), sizeof(double)), 0};
	const pid_t child = strcmp(how, "fork") ? -1 : fork();
	if (!strcmp(how, "threads") || !strcmp(how, "exit"))
		call_in_threads(how, threads, &caller);
	else
		call_all(&caller);
	if (!child)
		_exit(0);
	if (child > 0)
		waitpid(child, NULL, 0);
	double sum = 0;
	for (int i = 0; i < caller.n; i++)
		sum += caller.times[i];
	qsort(caller.times, (size_t)caller.n, sizeof(double), compare);
	fprintf(stderr, "calls %d sum %.9f median %.9f\n", caller.n, sum, caller.n ? caller.times[caller.n / 2] : 0);
	if (!strcmp(how, "exec"))
		execl("/proc/self/exe", argv[0], "calls", argv[2], argv[3], NULL);
	return 0;
}
