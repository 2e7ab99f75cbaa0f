/* Threads in pairs that hand a turn back and forth, and compute a little at each: what each has run by its own clock.
 *
 *     many_switches HOW PAIRS TURNS STEPS [APART [EVERY]]
 *
 * HOW they hand it on: pipe, futex, condition.  STEPS of computing at each turn, APART times as many in the second of a pair.
 * After each EVERY turns the first of a pair computes for long, while the other one waits.
 * Prints JSON: each thread's number, its processor time, and how often it has given its processor up. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PAIRS = 16, LONG_STEPS = 40000000 };

struct pair {
	int pipes[2][2];
	atomic_int turn;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

struct side {
	struct pair *pair;
	int number;
	long tid, switches;
	double cpu_s;
};

static struct pair pairs[MAX_PAIRS];
static struct side sides[MAX_PAIRS][2];
static const char *how;
static int turns, steps, apart = 1, every = INT_MAX;
static __thread volatile unsigned long result;

static __attribute__((noinline)) void compute(int n)
{
	unsigned long x = result;
	for (int i = 0; i < n; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	result = x;
}

static void wait_for(struct side *side)
{
	struct pair *pair = side->pair;
	int turn;
	char byte;
	if (*how == 'p') {
		if (read(pair->pipes[side->number][0], &byte, 1) != 1)
			_exit(3);
	} else if (*how == 'f') {
		while ((turn = atomic_load(&pair->turn)) != side->number)
			syscall(SYS_futex, &pair->turn, FUTEX_WAIT_PRIVATE, turn, NULL, NULL, 0);
	} else {
		pthread_mutex_lock(&pair->lock);
		while (atomic_load(&pair->turn) != side->number)
			pthread_cond_wait(&pair->changed, &pair->lock);
		pthread_mutex_unlock(&pair->lock);
	}
}

static void hand_on(struct side *side)
{
	struct pair *pair = side->pair;
	const int other = !side->number;
	if (*how == 'p') {
		if (write(pair->pipes[other][1], "", 1) != 1)
			_exit(3);
	} else if (*how == 'f') {
		atomic_store(&pair->turn, other);
		syscall(SYS_futex, &pair->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	} else {
		pthread_mutex_lock(&pair->lock);
		atomic_store(&pair->turn, other);
		pthread_cond_signal(&pair->changed);
		pthread_mutex_unlock(&pair->lock);
	}
}

static void *take_turns(void *argument)
{
	struct side *side = argument;
	struct rusage usage;
	struct timespec cpu;
	for (int i = 0; i < turns; i++) {
		wait_for(side);
		compute(side->number ? apart * steps : steps);
		if (!side->number && i % every == every - 1)
			compute(LONG_STEPS);
		hand_on(side);
	}
	getrusage(RUSAGE_THREAD, &usage);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	side->tid = gettid();
	side->switches = usage.ru_nvcsw + usage.ru_nivcsw;
	side->cpu_s = (double) cpu.tv_sec + 1e-9 * (double) cpu.tv_nsec;
	return NULL;
}

int main(int n, char **words)
{
	pthread_t threads[MAX_PAIRS][2];
	if (n < 5 || atoi(words[2]) > MAX_PAIRS)
		return 1;
	how = words[1];
	turns = atoi(words[3]);
	steps = atoi(words[4]);
	apart = n > 5 ? atoi(words[5]) : 1;
	every = n > 6 ? atoi(words[6]) : INT_MAX;
	const int n_pairs = atoi(words[2]);
	for (int i = 0; i < n_pairs; i++) {
		struct pair *pair = &pairs[i];
		if (pipe(pair->pipes[0]) || pipe(pair->pipes[1]) || pthread_mutex_init(&pair->lock, NULL) ||
		    pthread_cond_init(&pair->changed, NULL))
			return 1;
		if (*how == 'p' && write(pair->pipes[0][1], "", 1) != 1)
			return 1;
		for (int k = 0; k < 2; k++) {
			sides[i][k] = (struct side){.pair = pair, .number = k};
			if (pthread_create(&threads[i][k], NULL, take_turns, &sides[i][k]))
				return 1;
		}
	}
	for (int i = 0; i < 2 * n_pairs; i++)
		pthread_join(threads[i / 2][i % 2], NULL);
	printf("[");
	for (int i = 0; i < 2 * n_pairs; i++)
		printf("%s{\"tid\": %ld, \"cpu_s\": %.6f, \"switches\": %ld}", i ? ", " : "", sides[i / 2][i % 2].tid,
		       sides[i / 2][i % 2].cpu_s, sides[i / 2][i % 2].switches);
	printf("]\n");
	return 0;
}
