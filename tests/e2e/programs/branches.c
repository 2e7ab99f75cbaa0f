/* Branches whose mispredictions are known: branches [ROUNDS [half]]; with two arguments the first
 * function alone.  Each line that is printed is
 *
 *     FUNCTION EXECUTIONS TAKEN
 *
 * of the branch that its function is about (marked below); TAKEN is of what the source says, which
 * compilers may turn round. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1024
#define FUNCTION __attribute__((noinline, noclone)) static
#define KEEP(x) __asm__ volatile("" : "+r"(x))

static uint8_t data[N];
static uint64_t state = 88172645463325252u;

static uint64_t random_number(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* Bytes that are 1 with probability `percent`, in any order or in one. */
FUNCTION uint64_t fill(unsigned percent, int in_order)
{
	uint64_t n = 0;
	for (unsigned i = 0; i < N; i++) {
		const unsigned draw =
			in_order ? 10000u * i / N : (unsigned)(random_number() % 10000);
		data[i] = draw < 100 * percent;
		n += data[i];
	}
	return n;
}

#define COUNTING(name)                         \
	FUNCTION uint64_t name(void)           \
	{                                      \
		uint64_t n = 0;                \
		for (int i = 0; i < N; i++)    \
			if (data[i]) { /* marked */ \
				n += 1;        \
				KEEP(n);       \
			}                      \
		return n;                      \
	}
COUNTING(half)
COUNTING(tenth)
COUNTING(third)
COUNTING(sorted)

/* The inner loop's own branch. */
FUNCTION uint64_t short_loop(int turns)
{
	uint64_t n = 0;
	for (int i = 0; i < N / 10; i++)
		for (int k = 0; k < turns; k++) { /* marked */
			n += 1;
			KEEP(n);
		}
	return n;
}

/* One jump with eight targets. */
FUNCTION uint64_t interpret(const uint8_t *code, int n)
{
	static const void *const labels[] = {&&a, &&b, &&c, &&d, &&e, &&f, &&g, &&h};
	uint64_t x = 1;
	int i = -1;
next:
	if (++i == n)
		return x;
	goto *labels[code[i] & 7]; /* marked */
a:
	x += 1;
	KEEP(x);
	goto next;
b:
	x ^= 3;
	KEEP(x);
	goto next;
c:
	x *= 5;
	KEEP(x);
	goto next;
d:
	x += 7;
	KEEP(x);
	goto next;
e:
	x ^= 9;
	KEEP(x);
	goto next;
f:
	x -= 11;
	KEEP(x);
	goto next;
g:
	x += 13;
	KEEP(x);
	goto next;
h:
	x ^= 15;
	KEEP(x);
	goto next;
}

FUNCTION uint64_t recurse(unsigned depth)
{
	uint64_t n = depth ? recurse(depth - 1) + 1 : 0;
	KEEP(n);
	return n;
}

enum { HALF, TENTH, THIRD, SORTED, SHORT_LOOP, INTERPRET, RECURSE, N_FUNCTIONS };
static const char *const names[N_FUNCTIONS] = {"half",	     "tenth",	  "third",  "sorted",
					       "short_loop", "interpret", "recurse"};
static uint64_t executions[N_FUNCTIONS], taken[N_FUNCTIONS];

static void add(int function, uint64_t n, uint64_t of_them)
{
	executions[function] += n;
	taken[function] += of_them;
}

static uint64_t all_of_it(void)
{
	uint64_t x = 0;
	fill(10, 0);
	add(TENTH, N, tenth());
	fill(33, 0);
	add(THIRD, N, third());
	fill(50, 1);
	add(SORTED, N, sorted());
	const uint64_t turns = short_loop(10);
	add(SHORT_LOOP, turns, turns - turns / 10);
	for (int k = 0; k < N; k++)
		data[k] = (uint8_t)random_number();
	x += interpret(data, N);
	add(INTERPRET, N, N);
	for (int i = 0; i < 20; i++)
		x += recurse(20);
	add(RECURSE, 20 * 21, 20 * 21);
	return x;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 400;
	uint64_t x = 0;
	for (int i = 0; i < rounds; i++) {
		fill(50, 0);
		add(HALF, N, half());
		x += argc > 2 ? 0 : all_of_it();
	}
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (executions[i])
			printf("%s %llu %llu\n", names[i], (unsigned long long)executions[i],
			       (unsigned long long)taken[i]);
	KEEP(x);
	return 0;
}
