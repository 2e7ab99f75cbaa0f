/* Loops whose time the ECM model is to predict: each goes over arrays that all together have so
 * many bytes.  Called as: ecm_kernels BYTES TURNS THREADS [KERNEL...]; so many threads run each
 * kernel at once, each with BYTES of its own; TURNS is about how many elements each thread goes
 * over whose data are in L1; those that take longer do so less often. It does the same in each run,
 * and prints what keeps the compiler from leaving work out. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KERNEL(name) __attribute__((noinline, noclone)) static void name(size_t n, size_t passes)

static __thread double *restrict a, *restrict b, *restrict c;
static __thread uint64_t *restrict words;
static volatile double sink;
static volatile uint64_t word_sink;

/* So that passes are not made into one. */
#define AGAIN __asm__ volatile("" ::: "memory")

KERNEL(load)
{
	const uint64_t *x = words;
	uint64_t all = 0;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			all ^= x[i];
		AGAIN;
	}
	word_sink = all;
}

KERNEL(store)
{
	double *x = a;
	for (size_t pass = 0; pass < passes; pass++) {
		const double value = 1.0 / (double)(pass + 1);
		for (size_t i = 0; i < n; i++)
			x[i] = value;
		AGAIN;
	}
}

/* With a change of sign, so that it is no memcpy. */
KERNEL(copy)
{
	double *restrict x = a, *restrict y = b;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] = -y[i];
		AGAIN;
	}
}

KERNEL(update)
{
	double *x = a;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] = 1.0000001 * x[i];
		AGAIN;
	}
}

KERNEL(triad)
{
	double *restrict x = a, *restrict y = b, *restrict z = c;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] = y[i] + 3.1 * z[i];
		AGAIN;
	}
}

KERNEL(daxpy)
{
	double *restrict x = a, *restrict y = b;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] += 1e-9 * y[i];
		AGAIN;
	}
}

KERNEL(daxpby)
{
	double *restrict x = a, *restrict y = b;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] = 0.9999999 * x[i] + 1e-9 * y[i];
		AGAIN;
	}
}

/* Products of complex numbers. */
KERNEL(complex)
{
	double *restrict x = a, *restrict y = b, *restrict z = c;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i + 1 < n; i += 2) {
			x[i] = y[i] * z[i] - y[i + 1] * z[i + 1];
			x[i + 1] = y[i] * z[i + 1] + y[i + 1] * z[i];
		}
		AGAIN;
	}
}

/* To single precision. */
KERNEL(convert)
{
	float *restrict x = (float *)a;
	double *restrict y = b;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			x[i] = (float)y[i];
		AGAIN;
	}
}

KERNEL(dot)
{
	double *x = a, *y = b, all = 0;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			all += x[i] * y[i];
		AGAIN;
	}
	sink = all;
}

KERNEL(norm)
{
	double *x = a, all = 0;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			all += x[i] * x[i];
		AGAIN;
	}
	sink = all;
}

KERNEL(sum)
{
	double *x = a, all = 0;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++)
			all += x[i];
		AGAIN;
	}
	sink = all;
}

/* Five points, rows of 400 elements where there is room for four, else of a quarter. */
KERNEL(stencil)
{
	double *restrict x = a, *restrict y = b;
	const size_t row = n < 4 * 400 ? n / 4 : 400, rows = n / row;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t k = 1; k + 1 < rows; k++)
			for (size_t i = 1; i + 1 < row; i++)
				x[k * row + i] = 0.2 * (y[k * row + i] + y[k * row + i - 1] +
							y[k * row + i + 1] + y[(k - 1) * row + i] +
							y[(k + 1) * row + i]);
		AGAIN;
	}
}

/* Seven points, planes of 8 rows of 16 elements in small arrays, else of 16 of 64. */
KERNEL(stencil3d)
{
	double *restrict x = a, *restrict y = b;
	const size_t row = n < 32768 ? 16 : 64, rows = row / 4 + 4, plane = row * rows,
		     planes = n / plane;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t l = 1; l + 1 < planes; l++)
			for (size_t k = 1; k + 1 < rows; k++)
				for (size_t i = l * plane + k * row + 1;
				     i < l * plane + (k + 1) * row - 1; i++)
					x[i] = 0.14 * (y[i] + y[i - 1] + y[i + 1] + y[i - row] +
						       y[i + row] + y[i - plane] + y[i + plane]);
		AGAIN;
	}
}

/* Gauss-Seidel in place: each element waits for the one before it, and so it is backward. */
KERNEL(gauss_seidel)
{
	double *x = a;
	const size_t row = n < 4 * 400 ? n / 4 : 400, rows = n / row;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t k = 1; k + 1 < rows; k++)
			for (size_t i = k * row + 1; i < (k + 1) * row - 1; i++)
				x[i] = 0.25 * (x[i - 1] + x[i + 1] + x[i - row] + x[i + row]);
		AGAIN;
	}
}

KERNEL(gauss_seidel_back)
{
	double *x = a;
	const size_t row = n < 4 * 400 ? n / 4 : 400, rows = n / row;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t k = rows - 2; k > 0; k--)
			for (size_t i = (k + 1) * row - 2; i > k * row; i--)
				x[i] = 0.25 * (x[i - 1] + x[i + 1] + x[i - row] + x[i + row]);
		AGAIN;
	}
}

/* A square matrix. */
KERNEL(transpose)
{
	double *restrict x = a, *restrict y = b;
	size_t row = 1;
	while ((row + 1) * (row + 1) <= n)
		row++;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t k = 0; k < row; k++)
			for (size_t i = 0; i < row; i++)
				x[k * row + i] = y[i * row + k];
		AGAIN;
	}
}

/* A polynomial of degree 12 of each element. */
KERNEL(horner)
{
	double *restrict x = a, *restrict y = b;
	for (size_t pass = 0; pass < passes; pass++) {
		for (size_t i = 0; i < n; i++) {
			double value = 0.1;
			for (int k = 1; k <= 12; k++)
				value = value * y[i] + 0.01 * k;
			x[i] = value;
		}
		AGAIN;
	}
}

static const struct {
	const char *name;
	void (*run)(size_t n, size_t passes);
	size_t arrays;
	size_t slower; /* roughly, in L1: so that all take about as long */
} kernels[] = {
	{"load", load, 1, 1},
	{"store", store, 1, 1},
	{"copy", copy, 2, 1},
	{"update", update, 1, 1},
	{"triad", triad, 3, 1},
	{"daxpy", daxpy, 2, 1},
	{"daxpby", daxpby, 2, 1},
	{"complex", complex, 3, 2},
	{"dot", dot, 2, 8},
	{"norm", norm, 1, 8},
	{"sum", sum, 1, 8},
	{"stencil", stencil, 2, 2},
	{"stencil3d", stencil3d, 2, 4},
	{"gauss_seidel", gauss_seidel, 1, 8},
	{"gauss_seidel_back", gauss_seidel_back, 1, 8},
	{"transpose", transpose, 2, 4},
	{"horner", horner, 2, 8},
	{"convert", convert, 2, 1}, /* last: its results are no doubles */
};

static int is_wanted(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return 1;
	return n == 0;
}

#define MOST_THREADS 256
static struct {
	size_t bytes, turns, threads;
	char **names;
	int n_names;
} wanted;
static pthread_barrier_t together;

/* One thread's turn of all kernels; the first one, which `first` is not NULL for, prints. */
static void *run_all(void *first)
{
	const size_t page = 2 << 20, room = (wanted.bytes + 4 * page) / page * page;
	char *memory = aligned_alloc(page, room);
	if (!memory)
		abort();
	madvise(memory, room, MADV_HUGEPAGE);
	for (size_t i = 0; i < room / sizeof(double); i++)
		((double *)memory)[i] = 0.5 + (double)(i * 2654435761u % 4096) / 8192;
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		/* a whole number of lines, and arrays that do not begin at the same place of a page
		 */
		const size_t n = wanted.bytes / kernels[k].arrays / 512 * 64, apart = n * 8 + 1344;
		if (!is_wanted(kernels[k].name, wanted.names, wanted.n_names))
			continue;
		a = (double *)memory;
		b = (double *)(memory + apart);
		c = (double *)(memory + 2 * apart);
		words = (uint64_t *)memory;
		pthread_barrier_wait(&together);
		kernels[k].run(n, wanted.turns / kernels[k].slower / n + 1);
		if (first)
			printf("%s %zu %g\n", kernels[k].name, n, a[n / 2]);
	}
	free(memory);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t others[MOST_THREADS];
	if (argc < 4)
		return 2;
	wanted.bytes = strtoull(argv[1], NULL, 10);
	wanted.turns = strtoull(argv[2], NULL, 10);
	wanted.threads = strtoull(argv[3], NULL, 10);
	wanted.names = argv + 4;
	wanted.n_names = argc - 4;
	if (wanted.threads < 1 || wanted.threads > MOST_THREADS ||
	    pthread_barrier_init(&together, NULL, (unsigned)wanted.threads) != 0)
		return 2;
	for (size_t i = 1; i < wanted.threads; i++)
		if (pthread_create(&others[i], NULL, run_all, NULL) != 0)
			return 1;
	run_all(&wanted);
	for (size_t i = 1; i < wanted.threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
