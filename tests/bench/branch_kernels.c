/* Loops whose time is mispredicted branches when their data come by chance, and not when the same
 * data come in order: branch_kernels KERNEL chance|order ROUNDS prints the seconds of all calls of
 * the kernel.  All data are in L1 and new in each round, so that no predictor can learn them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 4096
#define TABLE 1024
#define KERNEL __attribute__((noinline, noclone)) static uint64_t
#define KEEP(x) __asm__ volatile("" : "+r"(x))

static uint16_t data[N], other[N], merged[2 * N];
static uint32_t table[TABLE];
static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 20) % n);
}

/* ---- kernels ---- */

KERNEL branch(void)
{
	uint64_t n = 0;
	for (int i = 0; i < N; i++)
		if (data[i]) {
			n += 3;
			KEEP(n);
		}
	return n;
}

/* Either way something else is done. */
KERNEL two_ways(void)
{
	uint64_t n = 1;
	for (int i = 0; i < N; i++) {
		if (data[i]) {
			n += 3;
			KEEP(n);
		} else {
			n ^= 5;
			KEEP(n);
		}
	}
	return n;
}

KERNEL search(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < N; i++) {
		unsigned low = 0, high = TABLE;
		while (high - low > 1) {
			const unsigned middle = (low + high) / 2;
			if (table[middle] <= data[i]) {
				low = middle;
				KEEP(low);
			} else {
				high = middle;
				KEEP(high);
			}
		}
		sum += low;
	}
	return sum;
}

KERNEL merge(void)
{
	size_t i = 0, k = 0, n = 0;
	while (i < N && k < N) {
		if (data[i] <= other[k]) {
			merged[n++] = data[i++];
			KEEP(i);
		} else {
			merged[n++] = other[k++];
			KEEP(k);
		}
	}
	return n;
}

/* Lomuto's, as in quicksort. */
KERNEL partition(void)
{
	size_t n = 0;
	for (size_t i = 0; i < N; i++)
		if (data[i] < 32768) {
			const uint16_t x = data[i];
			data[i] = data[n];
			data[n++] = x;
			KEEP(n);
		}
	return n;
}

KERNEL interpret(void)
{
	static const void *const labels[] = {&&a, &&b, &&c, &&d, &&e, &&f, &&g, &&h};
	uint64_t x = 1;
	int i = -1;
#define STEP(label, what) \
	label:            \
	x what;           \
	KEEP(x);          \
	goto next;
next:
	if (++i == N)
		return x;
	goto *labels[data[i]];
	STEP(a, += 1)
	STEP(b, ^= 3)
	STEP(c, += 5)
	STEP(d, ^= 7)
	STEP(e, -= 9)
	STEP(f, ^= 11)
	STEP(g, += 13)
	STEP(h, ^= 15)
}

/* ---- data ---- */

static int ascending(const void *x, const void *y)
{
	return (int)*(const uint16_t *)x - (int)*(const uint16_t *)y;
}

/* Numbers below a hundred become 1 where they are below `limit`. */
static void fill_percent(unsigned limit, int in_order)
{
	for (int i = 0; i < N; i++)
		data[i] = (uint16_t)(below(100) < limit);
	if (in_order)
		qsort(data, N, sizeof(*data), ascending);
}

static void fill_numbers(unsigned limit, int in_order)
{
	for (int i = 0; i < N; i++)
		data[i] = (uint16_t)below(65536);
	if (in_order)
		qsort(data, N, sizeof(*data), ascending);
}

/* Two sorted rows whose numbers mix, or of which one lies behind the other but for its last. */
static void fill_rows(unsigned limit, int in_order)
{
	for (int i = 0; i < N; i++) {
		data[i] = (uint16_t)(in_order ? below(32768) : below(65536));
		other[i] = (uint16_t)(in_order ? 32768 + below(32768) : below(65536));
	}
	qsort(data, N, sizeof(*data), ascending);
	qsort(other, N, sizeof(*other), ascending);
	if (in_order)
		data[N - 1] = UINT16_MAX;
}

static void fill_steps(unsigned limit, int in_order)
{
	for (int i = 0; i < N; i++)
		data[i] = (uint16_t)(in_order ? (unsigned)i * 5 / 3 % limit : below(limit));
}

static const struct kernel {
	const char *name;
	uint64_t (*run)(void);
	void (*fill)(unsigned limit, int in_order);
	unsigned limit;
} kernels[] = {
	{"branch_10", branch, fill_percent, 10},   {"branch_20", branch, fill_percent, 20},
	{"branch_30", branch, fill_percent, 30},   {"branch_40", branch, fill_percent, 40},
	{"branch_50", branch, fill_percent, 50},   {"two_ways", two_ways, fill_percent, 50},
	{"search", search, fill_numbers, 0},       {"merge", merge, fill_rows, 0},
	{"partition", partition, fill_numbers, 0}, {"interpret_2", interpret, fill_steps, 2},
	{"interpret_8", interpret, fill_steps, 8},
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct kernel *kernel = NULL;
	double seconds = 0;
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (argc == 4 && strcmp(argv[1], kernels[i].name) == 0)
			kernel = &kernels[i];
	if (!kernel) {
		for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
			puts(kernels[i].name);
		return argc > 1;
	}
	for (unsigned i = 0; i < TABLE; i++)
		table[i] = i * (65536 / TABLE);
	for (int round = atoi(argv[3]); round > 0; round--) {
		kernel->fill(kernel->limit, strcmp(argv[2], "order") == 0);
		const double start = now();
		sum += kernel->run();
		seconds += now() - start;
	}
	KEEP(sum);
	printf("%.6f\n", seconds);
	return 0;
}
