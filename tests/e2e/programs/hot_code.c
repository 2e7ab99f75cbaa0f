/* Rounds that are all the same, of code that goes many ways: a small interpreter, calls through
 * pointers, recursion, string instructions, jumps out of calls.  Usage: hot_code ROUNDS [threads |
 * signals]. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define KEEP __attribute__((noinline, noclone))
#define STEPS 3000
#define THREADS 4

struct state {
	uint64_t numbers[16], seed;
	jmp_buf out;
	char text[256];
};

/* Mostly one way, now and then another one. */
KEEP uint64_t round_interpret(struct state *state)
{
	uint64_t *r = state->numbers, x = state->seed;
	for (int i = 0; i < STEPS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		switch (x >> 60) {
		case 0: r[1] += r[2]; break;
		case 1: r[2] ^= x; break;
		case 2: r[3] = r[1] * r[2]; break;
		case 3: r[4] -= r[3] >> 7; break;
		case 4: if (r[4] & 64) r[5]++; else r[6] += 3; break;
		case 5: for (unsigned k = 0; k < (x >> 40 & 7); k++) r[7] += k; break;
		case 6: r[8] = r[8] << 1 | r[8] >> 63; break;
		case 7: r[9] += r[r[8] & 7]; break;
		case 8: if ((x >> 20 & 1023) == 7) r[10] = 0; break;
		case 9: r[11] += r[10] > r[9] ? 1 : 2; break;
		case 10: while (r[12] & 1) r[12] >>= 1; r[12] += x >> 50; break;
		default: r[13]++;
		}
	}
	return r[1] + r[13];
}

KEEP uint64_t round_fib(uint64_t n)
{
	return n < 2 ? n : round_fib(n - 1) + round_fib(n - 2);
}

KEEP uint64_t round_add(uint64_t x)
{
	return x + 3;
}

KEEP uint64_t round_rotate(uint64_t x)
{
	return x << 5 | x >> 59;
}

KEEP uint64_t round_by_pointer(uint64_t x)
{
	uint64_t (*volatile const ways[2])(uint64_t) = {round_add, round_rotate};
	for (int i = 0; i < 300; i++)
		x = ways[x & 1](x);
	return x;
}

KEEP void round_throw(struct state *state, int depth)
{
	if (!depth)
		longjmp(state->out, 1);
	round_throw(state, depth - 1);
}

KEEP uint64_t round_string(struct state *state)
{
	char *to = state->text, *end = to + 128;
	size_t n = 100;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
	n = 64;
	__asm__ volatile("rep movsb" : "+D"(end), "+S"(to), "+c"(n)::"memory");
	return (uint64_t)state->text[99];
}

/* Each round begins with the same numbers. */
KEEP uint64_t one_round(struct state *state)
{
	memset(state->numbers, 0, sizeof(state->numbers));
	state->seed = 1;
	uint64_t sum = round_interpret(state) + round_fib(12) + round_by_pointer(5) + round_string(state);
	if (!setjmp(state->out))
		round_throw(state, 5);
	return sum;
}

static long rounds;

static void *work(void *unused)
{
	struct state *state = calloc(1, sizeof(*state));
	uint64_t sum = 0;
	for (long i = 0; i < rounds; i++)
		sum += one_round(state);
	free(state);
	return (void *)sum;
}

static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	pthread_t threads[THREADS];
	void *sums[THREADS] = {0};
	rounds = atol(argv[1]);
	if (!strcmp(how, "signals")) {
		const struct itimerval each_ms = {{0, 1000}, {0, 1000}};
		signal(SIGALRM, on_tick);
		setitimer(ITIMER_REAL, &each_ms, NULL);
	}
	if (strcmp(how, "threads") != 0) {
		sums[0] = work(NULL);
	} else {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], &sums[i]);
	}
	printf("%llu\n", (unsigned long long)(uintptr_t)sums[0]);
	return 0;
}
