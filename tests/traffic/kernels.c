/* Many small kernels, one function each, over memory of the program's own at fixed places:
 * kernels NAME N [TIMES].  Without words it prints their names, with their N for a stepped run (100,000 to
 * 400,000 instructions) and for a longer one. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(name) __attribute__((noinline, noclone)) static void kernel_##name(long n)
#define MEMORY (24 << 20) /* bytes of each part */

static union part {
	double d[MEMORY / 8];
	int i[MEMORY / 4];
	uint64_t u[MEMORY / 8];
	unsigned char c[MEMORY];
} a __attribute__((aligned(1 << 16))), b __attribute__((aligned(1 << 16))), c __attribute__((aligned(1 << 16)));
static volatile double kept;

static uint64_t random_number(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15;
	uint64_t z = (*state ^ *state >> 30) * 0xbf58476d1ce4e5b9;
	return z ^ z >> 27;
}

/* ---- streams ---- */

KERNEL(sum)
{
	double sum = 0;
	for (int k = 0; k < 3; k++)
		for (long i = 0; i < n; i++)
			sum += a.d[i];
	kept = sum;
}

KERNEL(copy)
{
	for (int k = 0; k < 2; k++)
		for (long i = 0; i < n; i++)
			*(volatile double *)&b.d[i] = a.d[i];
}

KERNEL(triad)
{
	for (int k = 0; k < 2; k++)
		for (long i = 0; i < n; i++)
			a.d[i] = b.d[i] + 3 * c.d[i];
}

KERNEL(backwards)
{
	for (int k = 0; k < 2; k++)
		for (long i = n; i-- > 0;)
			a.d[i] = a.d[i] * 2 + b.d[i];
}

KERNEL(strings)
{
	for (int k = 0; k < 4; k++) {
		void *to = a.c + 100 * k, *from = b.c + 52 * k;
		long words = n / 8;
		__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
		to = c.c + 40 * k;
		words = n / 8;
		__asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(0) : "memory");
	}
}

/* One line of each page, as a string: all in the same class of sets. */
KERNEL(pages)
{
	for (int k = 0; k < 3 + n / 50; k++)
		for (long i = 0; i < n; i++) {
			void *to = a.c + 8192 * i;
			long words = 8;
			__asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(0) : "memory");
		}
}

KERNEL(non_temporal)
{
	const __m128d one = _mm_set1_pd(1);
	for (int k = 0; k < 3; k++) {
		for (long i = 0; i < n; i += 2)
			_mm_stream_pd(&a.d[i], _mm_add_pd(_mm_load_pd(&b.d[i]), one));
		_mm_sfence();
	}
}

KERNEL(scan)
{
	long found = 0;
	memset(a.c, 'x', (size_t)n);
	for (long at = 0; at < n; found++) {
		while (at < n && a.c[at] != (unsigned char)(found + 1))
			at += 1 + (at & 1);
		b.i[found] = (int)at;
	}
	kept = (double)found;
}

/* ---- grids ---- */

KERNEL(stencil_1d)
{
	for (int k = 0; k < 2; k++)
		for (long i = 1; i < n - 1; i++)
			a.d[i] = .25 * (a.d[i - 1] + a.d[i + 1]);
}

KERNEL(stencil_2d)
{
	for (int k = 0; k < 2; k++)
		for (long i = 1; i < n - 1; i++)
			for (long j = 1; j < n - 1; j++)
				b.d[i * n + j] = a.d[i * n + j - 1] + a.d[i * n + j + 1] + a.d[(i - 1) * n + j] +
						 a.d[(i + 1) * n + j];
}

KERNEL(gauss_seidel)
{
	for (int k = 0; k < 2; k++)
		for (long i = 1; i < n - 1; i++)
			for (long j = 1; j < n - 1; j++)
				a.d[i * n + j] = .25 * (a.d[i * n + j - 1] + a.d[i * n + j + 1] +
							a.d[(i - 1) * n + j] + a.d[(i + 1) * n + j]);
}

KERNEL(stencil_3d)
{
	for (long i = 1; i < n - 1; i++)
		for (long j = 1; j < n - 1; j++)
			for (long k = 1; k < n - 1; k++) {
				const long at = (i * n + j) * n + k;
				b.d[at] = a.d[at - 1] + a.d[at + 1] + a.d[at - n] + a.d[at + n] +
					  a.d[at - n * n] + a.d[at + n * n];
			}
}

KERNEL(transpose)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++)
			b.d[j * n + i] = a.d[i * n + j];
}

KERNEL(transpose_blocked)
{
	for (long i = 0; i < n; i += 8)
		for (long j = 0; j < n; j += 8)
			for (long k = i; k < i + 8; k++)
				for (long l = j; l < j + 8; l++)
					b.d[l * n + k] = a.d[k * n + l];
}

KERNEL(columns)
{
	for (long j = 0; j < n; j++)
		for (long i = 0; i < n; i++)
			a.d[i * n + j] += 1;
}

/* The cache-conflict kernel of Gravelle's dissertation: places that are 4,096 bytes apart. */
KERNEL(conflicts)
{
	for (long k = 0; k < n; k++)
		for (long i = 0; i < 64; i++)
			a.d[i * 512] += 1;
}

/* ---- matrices ---- */

KERNEL(matmul)
{
	for (long i = 0; i < n; i++)
		for (long j = 0; j < n; j++) {
			double sum = 0;
			for (long k = 0; k < n; k++)
				sum += a.d[i * n + k] * b.d[k * n + j];
			c.d[i * n + j] = sum;
		}
}

KERNEL(matmul_rows)
{
	for (long i = 0; i < n; i++)
		for (long k = 0; k < n; k++)
			for (long j = 0; j < n; j++)
				c.d[i * n + j] += a.d[i * n + k] * b.d[k * n + j];
}

KERNEL(matmul_blocked)
{
	const long block = 16;
	for (long i0 = 0; i0 < n; i0 += block)
		for (long k0 = 0; k0 < n; k0 += block)
			for (long j0 = 0; j0 < n; j0 += block)
				for (long i = i0; i < i0 + block; i++)
					for (long k = k0; k < k0 + block; k++)
						for (long j = j0; j < j0 + block; j++)
							c.d[i * n + j] += a.d[i * n + k] * b.d[k * n + j];
}

KERNEL(lu)
{
	for (long i = 0; i < n; i++)
		a.d[i * n + i] = 4;
	for (long k = 0; k < n; k++)
		for (long i = k + 1; i < n; i++) {
			const double factor = a.d[i * n + k] /= a.d[k * n + k];
			for (long j = k + 1; j < n; j++)
				a.d[i * n + j] -= factor * a.d[k * n + j];
		}
}

KERNEL(cholesky)
{
	for (long j = 0; j < n; j++) {
		double sum = 4;
		for (long k = 0; k < j; k++)
			sum -= a.d[j * n + k] * a.d[j * n + k];
		a.d[j * n + j] = sum;
		for (long i = j + 1; i < n; i++) {
			sum = a.d[i * n + j];
			for (long k = 0; k < j; k++)
				sum -= a.d[i * n + k] * a.d[j * n + k];
			a.d[i * n + j] = sum / a.d[j * n + j];
		}
	}
}

KERNEL(floyd_warshall)
{
	for (long k = 0; k < n; k++)
		for (long i = 0; i < n; i++)
			for (long j = 0; j < n; j++) {
				const int through = a.i[8 * (i * n + k)] + a.i[8 * (k * n + j)];
				if (through < a.i[8 * (i * n + j)])
					a.i[8 * (i * n + j)] = through;
			}
}

KERNEL(sparse)
{
	uint64_t state = 5;
	for (long i = 0; i < 8 * n; i++)
		a.i[i] = (int)(random_number(&state) % (uint64_t)(4 * n));
	for (int k = 0; k < 2; k++)
		for (long i = 0; i < n; i++) {
			double sum = 0;
			for (long j = 8 * i; j < 8 * i + 8; j++)
				sum += c.d[j] * b.d[a.i[j]];
			b.d[4 * n + i] = sum;
		}
}

/* ---- FFT: powers of two ---- */

KERNEL(fft)
{
	for (long half = n / 2; half > 0; half /= 2)
		for (long start = 0; start < n; start += 2 * half)
			for (long i = start; i < start + half; i++) {
				const double re = a.d[2 * i] - a.d[2 * (i + half)];
				const double im = a.d[2 * i + 1] - a.d[2 * (i + half) + 1];
				const long w = 2 * (i - start) * (n / 2 / half);
				a.d[2 * i] += a.d[2 * (i + half)];
				a.d[2 * i + 1] += a.d[2 * (i + half) + 1];
				a.d[2 * (i + half)] = re * b.d[w] - im * b.d[w + 1];
				a.d[2 * (i + half) + 1] = re * b.d[w + 1] + im * b.d[w];
			}
}

/* ---- irregular ---- */

static void fill(long n)
{
	uint64_t state = 3;
	for (long i = 0; i < n; i++)
		a.i[i] = (int)(random_number(&state) >> 40);
}

static void quicksort(int *from, int *to)
{
	while (to - from > 1) {
		const int pivot = from[(to - from - 1) / 2];
		int *low = from - 1, *high = to;
		for (;;) {
			while (*++low < pivot)
				;
			while (*--high > pivot)
				;
			if (low >= high)
				break;
			const int other = *low;
			*low = *high;
			*high = other;
		}
		quicksort(from, high + 1);
		from = high + 1;
	}
}

KERNEL(quicksort)
{
	fill(n);
	quicksort(a.i, a.i + n);
}

KERNEL(merge_sort)
{
	fill(n);
	int *from = a.i, *to = b.i;
	for (long run = 1; run < n; run *= 2) {
		for (long start = 0; start < n; start += 2 * run) {
			long i = start, j = start + run, at = start;
			const long middle = j < n ? j : n, end = start + 2 * run < n ? start + 2 * run : n;
			while (at < end)
				to[at++] = i < middle && (j >= end || from[i] <= from[j]) ? from[i++] : from[j++];
		}
		int *other = from;
		from = to;
		to = other;
	}
}

KERNEL(heap)
{
	uint64_t state = 9;
	for (long size = 0; size < n; size++) {
		long at = size;
		const int key = (int)(random_number(&state) >> 40);
		for (; at > 0 && a.i[4 * ((at - 1) / 2)] > key; at = (at - 1) / 2)
			a.i[4 * at] = a.i[4 * ((at - 1) / 2)];
		a.i[4 * at] = key;
	}
	for (long size = n - 1; size > 0; size--) {
		const int key = a.i[4 * size];
		long at = 0, child;
		while ((child = 2 * at + 1) < size) {
			child += child + 1 < size && a.i[4 * child + 4] < a.i[4 * child];
			if (a.i[4 * child] >= key)
				break;
			a.i[4 * at] = a.i[4 * child];
			at = child;
		}
		a.i[4 * at] = key;
	}
}

KERNEL(hash)
{
	uint64_t state = 7, mask = 1;
	while (mask < (uint64_t)(2 * n))
		mask = 2 * mask + 1;
	for (int k = 0; k < 2; k++)
		for (long i = 0; i < n; i++) {
			const uint64_t key = random_number(&state) | 1;
			uint64_t at = key >> 20 & mask;
			while (a.u[2 * at] && a.u[2 * at] != key && k == 0)
				at = (at + 1) & mask;
			a.u[2 * at] = key;
			a.u[2 * at + 1]++;
		}
}

KERNEL(histogram)
{
	uint64_t state = 1;
	for (long i = 0; i < n; i++)
		a.i[random_number(&state) % (uint64_t)n]++;
}

KERNEL(list)
{
	for (long i = 0; i < n; i++)
		a.u[8 * i] = (uint64_t)((i * 5 + 3) & (n - 1)); /* one ring, n a power of two */
	uint64_t at = 0;
	for (long i = 0; i < 4 * n; i++)
		at = a.u[8 * at];
	kept = (double)at;
}

KERNEL(tree)
{
	uint64_t state = 2;
	long used = 1; /* left, right, key */
	a.i[2] = 1 << 23;
	for (; used < n; used++) {
		const int key = (int)(random_number(&state) >> 40);
		int at = 0, *child;
		while (*(child = &a.i[4 * at + (key > a.i[4 * at + 2])]))
			at = *child;
		*child = (int)used;
		a.i[4 * used] = a.i[4 * used + 1] = 0;
		a.i[4 * used + 2] = key;
	}
}

KERNEL(queue)
{
	const uint64_t size = (uint64_t)n / 4; /* of places, a line each */
	uint64_t head = 0, tail = 0, sum = 0;
	for (long i = 0; i < n; i++) {
		for (int k = 0; k < 3 && tail - head < size; k++)
			a.u[8 * (tail++ % size)] = (uint64_t)i;
		for (int k = 0; k < 2 && head < tail; k++)
			sum += a.u[8 * (head++ % size)];
	}
	kept = (double)sum;
}

KERNEL(dynamic)
{
	for (long i = 1; i < n; i++)
		for (long j = 1; j < n; j++) {
			const int up = a.i[(i - 1) * n + j], left = a.i[i * n + j - 1];
			a.i[i * n + j] = b.c[i] == c.c[j] ? a.i[(i - 1) * n + j - 1] + 1 : up > left ? up : left;
		}
}

/* ---- vectors with lanes of their own ---- */

__attribute__((target("avx2"))) KERNEL(gather)
{
	uint64_t state = 4;
	__m256d sum = _mm256_setzero_pd();
	for (long i = 0; i < n; i++) {
		const uint64_t random = random_number(&state);
		const __m128i index = _mm_set_epi32((int)(random % (uint64_t)n), (int)((random >> 20) % (uint64_t)n),
						    (int)i, (int)(n - 1 - i));
		sum = _mm256_add_pd(sum, _mm256_i32gather_pd(a.d, index, 8));
	}
	kept = sum[0];
}

/* Places that are 4,096 bytes apart: one class of sets. */
__attribute__((target("avx2"))) KERNEL(gather_few_sets)
{
	__m256d sum = _mm256_setzero_pd();
	for (long k = 0; k < n; k++)
		for (int i = 0; i < 64; i += 4) {
			const __m128i index = _mm_set_epi32(512 * i, 512 * i + 512, 512 * i + 1024, 512 * i + 1536);
			sum = _mm256_add_pd(sum, _mm256_i32gather_pd(b.d, index, 8));
		}
	kept = sum[0];
}

__attribute__((target("avx2"))) KERNEL(masked)
{
	for (int k = 0; k < 3; k++)
		for (long i = 0; i < n; i += 4) {
			const __m256i mask = _mm256_set_epi64x(-(i & 4), -(i & 8), -(i & 16), -(i & 12));
			_mm256_maskstore_pd(&a.d[i], mask,
					    _mm256_add_pd(_mm256_maskload_pd(&b.d[i + 1], mask), _mm256_set1_pd(1)));
		}
}

__attribute__((target("avx2"))) KERNEL(masked_few_sets)
{
	for (long k = 0; k < n; k++)
		for (long i = 0; i < 64; i++) {
			const __m256i mask = _mm256_set_epi64x(0, -(i & 1), -1, -(k & 1));
			_mm256_maskstore_pd(&c.d[512 * i], mask, _mm256_set1_pd(1));
		}
}

/* ---- which ---- */

static const struct {
	const char *name;
	void (*run)(long n);
	long stepped, longer;
	int needs_avx2;
} kernels[] = {
#define ROW(name, stepped, longer) {#name, kernel_##name, stepped, longer, 0},
#define ROW_AVX2(name, stepped, longer) {#name, kernel_##name, stepped, longer, 1},
	ROW(sum, 12000, 2000000) ROW(copy, 8000, 1000000) ROW(triad, 6000, 2000000) ROW(backwards, 8000, 1000000)
	ROW(strings, 100000, 8000000) ROW(pages, 500, 2500) ROW(non_temporal, 12000, 1500000) ROW(scan, 60000, 8000000)
	ROW(stencil_1d, 14000, 2000000) ROW(stencil_2d, 90, 1000) ROW(gauss_seidel, 110, 1000) ROW(stencil_3d, 22, 120)
	ROW(transpose, 96, 1024) ROW(transpose_blocked, 96, 1024) ROW(columns, 128, 1024) ROW(conflicts, 400, 60000)
	ROW(matmul, 32, 200) ROW(matmul_rows, 32, 200) ROW(matmul_blocked, 32, 208) ROW(lu, 52, 250) ROW(cholesky, 56, 260)
	ROW(floyd_warshall, 30, 150) ROW(sparse, 1500, 150000) ROW(fft, 2048, 131072) ROW(quicksort, 5000, 500000)
	ROW(merge_sort, 3000, 300000) ROW(heap, 1500, 200000) ROW(hash, 5000, 400000) ROW(histogram, 16000, 3000000)
	ROW(list, 2048, 262144) ROW(tree, 2000, 200000) ROW(queue, 5000, 800000) ROW(dynamic, 100, 1200)
	ROW_AVX2(gather, 8000, 1000000) ROW_AVX2(gather_few_sets, 700, 100000) ROW_AVX2(masked, 12000, 1500000)
	ROW_AVX2(masked_few_sets, 150, 60000)
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (kernels[i].needs_avx2 && !__builtin_cpu_supports("avx2"))
			continue;
		else if (argc < 3)
			printf("%s %ld %ld\n", kernels[i].name, kernels[i].stepped, kernels[i].longer);
		else if (!strcmp(argv[1], kernels[i].name))
			for (long times = argc > 3 ? atol(argv[3]) : 1; times > 0; times--)
				kernels[i].run(atol(argv[2]));
	return 0;
}
