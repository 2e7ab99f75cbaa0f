/* Functions that are inlined: in two callers, two levels deep, into themselves, and both inlined and called.  What the compiler
 * makes of loops and addresses is its own choice; the flop are not.  One line for each function goes to standard output:
 *	truth kernel=NAME flop=N
 * where a function's flop are those of all its copies and of its own body, without what is inlined in it. */
#include "truth.h"

#define INLINE static inline __attribute__((always_inline))
#define N 1000

static double x[N], y[N];
static volatile int repetitions = 300, levels = 12, size = N; /* nothing for the compiler to know */
static volatile double sink;

INLINE double multiply(double a, double b)
{
	return a * b;
}

INLINE double dot(const double *a, const double *b, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += multiply(a[i], b[i]);
	return sum;
}

__attribute__((noinline)) static double first(int n)
{
	return 2.5 * dot(x, y, n);
}

__attribute__((noinline)) static double second(int n)
{
	return dot(y, x, n) - dot(x, x, n);
}

/* Inlined where it is called by name; the pointer calls its own body. */
INLINE double triple(double a)
{
	return 3.0 * a;
}

static double (*volatile pointer)(double) = triple;

/* The compiler puts some levels of the recursion into each other. */
double horner(double a, int n);
inline double horner(double a, int n)
{
	return n == 0 ? a : horner(a, n - 1) * a + 0.25;
}
extern double horner(double a, int n);

int main(void)
{
	const int n = repetitions, depth = levels;
	uint64_t k = (uint64_t)n;

	for (int i = 0; i < N; i++)
		x[i] = y[i] = (double)i;
	for (int i = 0; i < n; i++) {
		sink = first(size);
		sink = second(size / 2);
		sink = triple(sink);
		sink = pointer(sink);
		sink = horner(sink, depth);
	}
	printf("truth kernel='multiply' flop=%" PRIu64 "\n", k * 2 * N);
	printf("truth kernel='dot' flop=%" PRIu64 "\n", k * 2 * N);
	printf("truth kernel='first' flop=%" PRIu64 "\n", k);
	printf("truth kernel='second' flop=%" PRIu64 "\n", k);
	printf("truth kernel='triple' flop=%" PRIu64 "\n", 2 * k);
	printf("truth kernel='horner' flop=%" PRIu64 "\n", 2 * k * (uint64_t)depth);
	return 0;
}
