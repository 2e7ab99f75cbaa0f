/* As kernels.c: code that the compiler has put into vectors and fused, built with
 * -O3 -mavx2 -mfma -ffast-math. */
#include <immintrin.h>
#include <stdint.h>

#define KERNEL __attribute__((noinline, noclone))
#define N 512
#define AGAIN ({ __asm__ volatile("" ::: "memory"); }) /* no turn is left out */

static double x[N], y[N];
static float xf[N];
static int32_t order[N];
static double large[1 << 15]; /* 256 KiB: in L2 */
static volatile double sink;

/* It is fused already. */
KERNEL void fused_axpy(double *restrict a, const double *restrict b, double by, int repeat)
{
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i++)
			a[i] += by * b[i];
}

/* A polynomial: products and sums, all of them fused. */
KERNEL void fused_polynomial(double *restrict a, const double *restrict b, int repeat)
{
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i++) {
			const double v = b[i];
			a[i] = ((((v * 0.1 + 0.2) * v + 0.3) * v + 0.4) * v + 0.5) * v + 0.6;
		}
}

/* a b + c d: a product and a fused one; the product is what the fused one adds, so none is left. */
KERNEL void fused_pairs(double *restrict a, const double *restrict b, int repeat)
{
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N - 1; i++)
			a[i] = b[i] * 0.25 + b[i + 1] * 0.75;
}

/* One chain of vectors. */
KERNEL double chain_vectors(const double *a, int repeat)
{
	__m256d s = _mm256_setzero_pd();
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i += 4) {
			s = _mm256_fmadd_pd(_mm256_loadu_pd(a + i), _mm256_loadu_pd(a + i), s);
			__asm__ volatile("" : "+x"(s));
		}
	return s[0] + s[1] + s[2] + s[3];
}

KERNEL void divide_vectors(double *restrict a, const double *restrict b, int repeat)
{
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i++)
			a[i] = 1.5 / b[i];
}

/* Indexes without order, but all of it is in L1. */
KERNEL double gather_near(const double *a, const int32_t *where, int repeat)
{
	__m256d s = _mm256_setzero_pd(), t = s;
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i += 8) {
			s += _mm256_i32gather_pd(a, _mm_loadu_si128((const __m128i *)(where + i)), 8);
			t += _mm256_i32gather_pd(a, _mm_loadu_si128((const __m128i *)(where + i + 4)), 8);
		}
	s += t;
	return s[0] + s[1] + s[2] + s[3];
}

/* As many sums as there are registers: what they wait for each other is far less than what L2 takes. */
KERNEL double read_in_l2(const double *a, int repeat)
{
	__m256d s[14] = {{0}};
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i + 56 <= 1 << 15; i += 56)
#pragma GCC unroll 14
			for (int k = 0; k < 14; k++)
				s[k] += _mm256_loadu_pd(a + i + 4 * k);
#pragma GCC unroll 14
	for (int k = 1; k < 14; k++)
		s[0] += s[k];
	return s[0][0] + s[0][1] + s[0][2] + s[0][3];
}

KERNEL int32_t integer_vectors(int32_t *a, int repeat)
{
	for (int r = 0; r < repeat; r++, AGAIN)
		for (int i = 0; i < N; i++)
			a[i] = (a[i] ^ 3) + r;
	return a[1];
}

/* Half of the lanes do nothing. */
__attribute__((target("avx512f"))) KERNEL double masked_lanes(double by, int n)
{
	__m512d s[12], factor = _mm512_set1_pd(by);
#pragma GCC unroll 12
	for (int k = 0; k < 12; k++)
		s[k] = factor + k;
	for (int i = 0; i < n; i++)
#pragma GCC unroll 12
		for (int k = 0; k < 12; k++)
			s[k] = _mm512_mask_mul_pd(s[k], 0x0f, s[k], factor);
	__m512d all = s[0];
#pragma GCC unroll 12
	for (int k = 1; k < 12; k++)
		all += s[k];
	return _mm512_reduce_add_pd(all);
}

int main(void)
{
	for (int i = 0; i < N; i++) {
		x[i] = 1 + 1e-3 * i;
		xf[i] = 1;
		order[i] = i * 197 % N;
	}
	for (int i = 0; i < 1 << 15; i++)
		large[i] = i;
	fused_axpy(y, x, 1e-9, 600000);
	fused_polynomial(y, x, 400000);
	fused_pairs(y, x, 600000);
	sink = chain_vectors(x, 400000);
	divide_vectors(y, x, 200000);
	sink = gather_near(x, order, 200000);
	sink = read_in_l2(large, 24000);
	sink = integer_vectors(order, 1600000);
	if (__builtin_cpu_supports("avx512f"))
		sink = masked_lanes(0.9999, 15000000);
	return (int)xf[1] - 1;
}
