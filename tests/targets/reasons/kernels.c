/* Functions that are slow for one known cause each (tests/e2e/test_reasons.py says which): built with
 * -O2 for any x86-64, without vectors but where the source has them.  Their data are in L1 unless said
 * otherwise, and each takes about a tenth of a second. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL __attribute__((noinline, noclone))
#define N 512 /* elements: 4 KiB of doubles */

static double x[N], y[N], z[N];
static float xf[N], yf[N];
static uint64_t words[N];
static volatile double sink;
static volatile double total;

/* ---- chains from turn to turn ---- */

KERNEL double chain_sum(const double *a, int repeat)
{
	double s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s += a[i];
	return s;
}

KERNEL double chain_dot(const double *a, const double *b, int repeat)
{
	double s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s += a[i] * b[i];
	return s;
}

KERNEL float chain_dot_float(const float *a, const float *b, int repeat)
{
	float s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s += a[i] * b[i];
	return s;
}

KERNEL double chain_product(const double *a, int repeat)
{
	double s = 1;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s *= a[i];
	return s;
}

KERNEL double chain_horner(double at, int n)
{
	double s = 1;
	for (int i = 0; i < n; i++)
		s = s * at + 0.5;
	return s;
}

KERNEL double chain_logistic(double at, int n)
{
	for (int i = 0; i < n; i++)
		at = 3.7 * at * (1 - at);
	return at;
}

KERNEL double chain_divide(double at, int n)
{
	for (int i = 0; i < n; i++)
		at = 2.5 / at;
	return at;
}

KERNEL void chain_prefix(double *a, int repeat)
{
	for (int r = 0; r < repeat; r++) {
		double s = a[0];
		for (int i = 1; i < N; i++) {
			s = s * 0.5 + a[i];
			a[i] = s;
		}
	}
}

KERNEL uint64_t chain_hash(const uint64_t *a, int repeat)
{
	uint64_t h = 1;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			h = (h ^ a[i]) * 0x100000001b3;
	return h;
}

KERNEL uint64_t chain_generator(uint64_t h, int n)
{
	for (int i = 0; i < n; i++)
		h = h * 6364136223846793005u + 1442695040888963407u;
	return h;
}

KERNEL uint64_t chain_integer_divide(uint64_t h, uint64_t by, int n)
{
	for (int i = 0; i < n; i++)
		h = 0xfedcba9876543210u / (h / by + 3);
	return h;
}

/* The sum is stored and loaded each turn. */
KERNEL void chain_in_memory(const double *a, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			total = total + a[i];
}

__attribute__((optimize("O0"))) KERNEL double chain_unoptimised(const double *a, int repeat)
{
	double s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s += a[i];
	return s;
}

struct node {
	struct node *next;
	uint64_t pad[7];
};

/* A list that fits in L1: each address comes from a load, but no line from farther. */
KERNEL struct node *chain_list(struct node *node, int n)
{
	for (int i = 0; i < n; i++)
		node = node->next;
	return node;
}

__attribute__((target("fpmath=387"))) KERNEL double chain_x87(const double *a, int repeat)
{
	double s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			s += a[i];
	return s;
}

/* ---- arithmetic ---- */

KERNEL void divide_double(double *a, const double *b, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			a[i] = 1.5 / b[i];
}

KERNEL uint64_t divide_integers(const uint64_t *a, uint64_t by, int repeat)
{
	uint64_t sum = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			sum += a[i] % by;
	return sum;
}

KERNEL void count_atomically(uint64_t *counts, int n)
{
	for (int i = 0; i < n; i++)
		__atomic_fetch_add(&counts[i & 63], (uint64_t)i, __ATOMIC_RELAXED);
}

KERNEL void divide_float(float *a, const float *b, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			a[i] = 1.5f / b[i];
}

KERNEL void root_double(double *a, const double *b, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			__asm__("sqrtsd %1, %0" : "=x"(a[i]) : "x"(b[i]));
}

/* One division beside 32 multiplications and additions. */
KERNEL void divide_rarely(double *a, const double *b, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++) {
			const double v = b[i];
			double p = 0.1, q = 0.2, s = 0.3, t = 0.4;
#pragma GCC unroll 4
			for (int k = 0; k < 4; k++) {
				p = p * v + 0.5;
				q = q * v + 0.6;
				s = s * v + 0.7;
				t = t * v + 0.8;
			}
			a[i] = (p + q + s) / t;
		}
}

KERNEL void scalar_axpy(double *a, const double *b, double by, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			a[i] += by * b[i];
}

KERNEL void scalar_float(float *a, const float *b, float by, int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			a[i] = (a[i] + by) * b[i];
}

/* Eight chains side by side: what holds it is that each is of one lane. */
KERNEL double scalar_many(double by, int n)
{
	double s[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	for (int i = 0; i < n; i++)
#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			s[k] = s[k] * by;
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

typedef double two __attribute__((vector_size(16)));

/* Twelve chains of two lanes. */
KERNEL double narrow_many(two by, int n)
{
	two s[12];
#pragma GCC unroll 12
	for (int k = 0; k < 12; k++)
		s[k] = by + k;
	for (int i = 0; i < n; i++)
#pragma GCC unroll 12
		for (int k = 0; k < 12; k++)
			s[k] = s[k] * by;
	two all = s[0];
#pragma GCC unroll 12
	for (int k = 1; k < 12; k++)
		all += s[k];
	return all[0] + all[1];
}

/* As many products as sums, but no product is added to anything. */
KERNEL double unfusible(two by, int n)
{
	two p[7], s[7];
#pragma GCC unroll 7
	for (int k = 0; k < 7; k++)
		p[k] = s[k] = by + k;
	for (int i = 0; i < n; i++)
#pragma GCC unroll 7
		for (int k = 0; k < 7; k++) {
			p[k] = p[k] * by;
			s[k] = s[k] + by;
		}
	two all = s[0] + p[0];
#pragma GCC unroll 7
	for (int k = 1; k < 7; k++)
		all += s[k] + p[k];
	return all[0] + all[1];
}

__attribute__((target("fpmath=387"))) KERNEL void x87_scale(double *a, const double *b, double by,
							    int repeat)
{
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < N; i++)
			a[i] = (b[i] + by) * (b[i] - by) + by * b[i];
}

/* ---- instructions ---- */

KERNEL void issue_integer(uint64_t *a, int n)
{
	uint64_t p = a[0], q = a[1], r = a[2], s = a[3], t = a[4], u = a[5];
	for (int i = 0; i < n; i++) {
		__asm__ volatile("add $3, %0; add $5, %1; xor $7, %2; add $9, %3; xor $11, %4; add $13, %5;"
				 "xor $3, %0; xor $5, %1; add $7, %2; xor $9, %3; add $11, %4; xor $13, %5;"
				 "add $3, %0; add $5, %1; xor $7, %2; add $9, %3; xor $11, %4; add $13, %5;"
				 "xor $3, %0; xor $5, %1; add $7, %2; xor $9, %3; add $11, %4; xor $13, %5"
				 : "+r"(p), "+r"(q), "+r"(r), "+r"(s), "+r"(t), "+r"(u));
	}
	a[0] = p + q + r + s + t + u;
}

KERNEL void tiny_loop(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("");
}

KERNEL void tiny_callee(void)
{
	__asm__ volatile("");
}

KERNEL void calls(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		tiny_callee();
}

KERNEL void rep_move(char *to, const char *from, int n)
{
	for (int i = 0; i < n; i++) {
		char *t = to;
		const char *f = from;
		size_t bytes = 2048;
		__asm__ volatile("rep movsb" : "+D"(t), "+S"(f), "+c"(bytes)::"memory");
	}
}

/* ---- branches ---- */

#define DECISIONS (1 << 20)

KERNEL uint64_t branch_random(const uint8_t *decisions, int repeat)
{
	uint64_t s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < DECISIONS; i++)
			if (decisions[i] & 1)
				__asm__ volatile("add $1, %0" : "+r"(s));
	return s;
}

KERNEL uint64_t branch_sorted(const uint8_t *decisions, int repeat)
{
	uint64_t s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < DECISIONS; i++)
			if (decisions[i] & 1)
				__asm__ volatile("add $1, %0" : "+r"(s));
	return s;
}

KERNEL uint64_t short_loops(const uint8_t *decisions, int repeat)
{
	uint64_t s = 0;
	for (int r = 0; r < repeat; r++)
		for (int i = 0; i < DECISIONS; i++)
			for (int k = -1; k < (decisions[i] & 3); k++)
				__asm__ volatile("add $1, %0" : "+r"(s));
	return s;
}

static uint32_t pseudo_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

KERNEL void prepare(uint8_t *random, uint8_t *sorted, struct node *nodes)
{
	uint32_t state = 2463534242;
	for (int i = 0; i < N; i++) {
		x[i] = 1 + 1e-3 * i;
		y[i] = 1 - 1e-4 * i;
		xf[i] = 1 + 1e-3f * (float)i;
		yf[i] = 1 - 1e-4f * (float)i;
		words[i] = (uint64_t)i * 77777;
	}
	for (int i = 0; i < DECISIONS; i++) {
		random[i] = (uint8_t)(pseudo_random(&state) >> 11);
		sorted[i] = i < DECISIONS / 2;
	}
	for (int i = 0; i < 64; i++)
		nodes[i * 37 % 64].next = &nodes[(i + 1) * 37 % 64];
}

static void run_chains(struct node *nodes)
{
	sink = chain_sum(x, 150000);
	sink = chain_dot(x, y, 150000);
	sink = (double)chain_dot_float(xf, yf, 150000);
	sink = chain_product(x, 150000);
	sink = chain_horner(0.99, 40000000);
	sink = chain_logistic(0.3, 30000000);
	sink = chain_divide(0.99, 20000000);
	for (int i = 0; i < N; i++)
		z[i] = x[i];
	chain_prefix(z, 60000);
	sink = (double)chain_hash(words, 150000);
	sink = (double)chain_generator(3, 80000000);
	sink = (double)chain_integer_divide(7, words[1], 8000000);
	chain_in_memory(x, 60000);
	sink = chain_unoptimised(x, 60000);
	sink = (double)(chain_list(nodes, 60000000) - nodes);
	sink = chain_x87(x, 100000);
}

static void run_arithmetic(void)
{
	/* what would become denormal takes a hundred times as long on some processors */
	const two by = {1 - 1e-8, 1 - 2e-8};
	divide_double(z, x, 120000);
	divide_float(yf, xf, 150000);
	count_atomically(words, 15000000);
	sink = (double)divide_integers(words, words[1] | 3, 20000);
	root_double(z, x, 100000);
	divide_rarely(z, y, 30000);
	scalar_axpy(z, x, 1e-9, 400000);
	scalar_float(yf, xf, 1e-9f, 400000);
	sink = scalar_many(0.9999999, 60000000);
	sink = narrow_many(by, 40000000);
	sink = unfusible(by, 50000000);
	x87_scale(z, x, 0.5, 100000);
}

int main(void)
{
	uint8_t *random = malloc(DECISIONS), *sorted = malloc(DECISIONS);
	struct node *nodes = aligned_alloc(64, 64 * sizeof(*nodes));
	static char text[2][2048];
	if (!random || !sorted || !nodes)
		return 1;
	prepare(random, sorted, nodes);
	run_chains(nodes);
	run_arithmetic();
	issue_integer(words, 30000000);
	tiny_loop(400000000);
	calls(80000000);
	rep_move(text[0], text[1], 3000000);
	sink = (double)branch_random(random, 30);
	sink = (double)branch_sorted(sorted, 150);
	sink = (double)short_loops(random, 15);
	free(random);
	free(sorted);
	free(nodes);
	return 0;
}
