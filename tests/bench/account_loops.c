/* Loops of which it is known by construction what takes their time (account_loops.def). */
#define LOOPS "account_loops.def"
#include "account_data.h"

/* ---- dependency chains ---- */

#define REDUCE(name, type, array, start, step)                       \
	KERNEL(name)                                                 \
	{                                                            \
		type x = start;                                      \
		for (size_t turn = 0; turn < turns; turn += SMALL) { \
			for (size_t i = 0; i < SMALL; i++)           \
				x = step(x, array[i]);               \
			USED;                                        \
		}                                                    \
		sink = (double)x;                                    \
	}
#define PLUS(x, y) (x) + (y)
#define TIMES(x, y) (x) * (y)
#define LARGER(x, y) (x) > (y) ? (x) : (y)
#define FNV(x, y) ((x) ^ (y)) * UINT64_C(0x100000001b3)
#define LCG(x, y) (x) * UINT64_C(6364136223846793005) + (y)
#define ROOT(x, y) sqrt((x) + (y))
#define DIVIDE(x, y) (y) / (x)
#define REMAINDER(x, y) ((y) | UINT64_C(1) << 40) / ((x) | 1)
REDUCE(sum, double, numbers, 0, PLUS)
REDUCE(sum_float, float, floats, 0, PLUS)
REDUCE(product, double, numbers, 1, TIMES)
REDUCE(fnv_bytes, uint64_t, text, UINT64_C(0xcbf29ce484222325), FNV)
REDUCE(fnv_words, uint64_t, words, UINT64_C(0xcbf29ce484222325), FNV)
REDUCE(lcg, uint64_t, words, 1, LCG)
REDUCE(roots, double, numbers, 2, ROOT)
REDUCE(quotients, double, numbers, 1.5, DIVIDE)
REDUCE(int_quotients, uint64_t, words, 12345, REMAINDER)

/* A bit at a time. */
KERNEL(crc)
{
	uint32_t x = ~0u;
	for (size_t turn = 0; turn < turns; turn++) {
		x ^= text[turn % SMALL];
		for (int bit = 0; bit < 8; bit++)
			x = x >> 1 ^ (0xedb88320 & -(x & 1));
	}
	word_sink = x;
}

KERNEL(recurrence)
{
	for (size_t turn = 0; turn < turns; turn += SMALL) {
		for (size_t i = 1; i < SMALL; i++)
			results[i] = 0.5 * results[i - 1] + numbers[i];
		USED;
	}
}

/* The larger of what goes through two additions. */
KERNEL(two_ways)
{
	double x = 1, y = 2;
	for (size_t turn = 0; turn < turns; turn += SMALL) {
		for (size_t i = 0; i < SMALL; i++) {
			const double next = x + y;
			x = y + numbers[i];
			y = next * 0.5;
		}
		USED;
	}
	sink = x + y;
}

/* Horner's rule for one to eight polynomials at once: a chain of multiplications and additions
 * each. */
#define HORNER(name, N)                                                             \
	KERNEL(name)                                                                \
	{                                                                           \
		double x = 0.999, y[N] = {0};                                       \
		UNKNOWN_FP(x);                                                      \
		for (size_t turn = 0; turn < turns; turn += SMALL) {                \
			for (size_t i = 0; i < SMALL; i++)                          \
				_Pragma("GCC unroll 8") for (int k = 0; k < N; k++) \
				{                                                   \
					y[k] = y[k] * x + numbers[i];               \
					UNKNOWN_FP(y[k]); /* no vectors */          \
				}                                                   \
			USED;                                                       \
		}                                                                   \
		for (int k = 0; k < N; k++)                                         \
			sink = y[k];                                                \
	}
HORNER(horner_1, 1)
HORNER(horner_2, 2)
HORNER(horner_3, 3)
HORNER(horner_4, 4)
HORNER(horner_5, 5)
HORNER(horner_6, 6)
HORNER(horner_7, 7)
HORNER(horner_8, 8)

/* ---- divisions and roots that do not wait for each other ---- */

MAP(div_double, double, results, numbers, 3.1 / x)
MAP(div_float, float, float_results, floats, 3.1f / x)
MAP(div_64, uint64_t, word_results, words, (UINT64_C(1) << 60) / (x | 1))
MAP(div_32, uint32_t, half_results, half_words, 4000000000u / (x | 1))
MAP(root_double, double, results, numbers, __builtin_sqrt(x))
MAP(root_float, float, float_results, floats, __builtin_sqrtf(x))

/* ---- branches that cannot be predicted ---- */

KERNEL(count_larger)
{
	uint64_t n = 0;
	for (size_t turn = 0; turn < turns; turn += KEYS) {
		renew_keys();
		for (size_t i = 0; i < KEYS; i++)
			if (random_keys[i] & 1) {
				n += i;
				UNKNOWN(n);
			}
	}
	word_sink = n;
}

KERNEL(one_of_three)
{
	uint64_t x = 0, y = 0;
	for (size_t turn = 0; turn < turns; turn += KEYS) {
		renew_keys();
		for (size_t i = 0; i < KEYS; i++) {
			const uint32_t key = random_keys[i] >> 8 & 3;
			if (key == 0) {
				x += i;
				UNKNOWN(x);
			} else if (key == 1) {
				y ^= i;
				UNKNOWN(y);
			} else {
				x -= y;
				UNKNOWN(x);
			}
		}
	}
	word_sink = x + y;
}

__attribute__((noinline, noclone)) static size_t partition(uint32_t *a, size_t n)
{
	const uint32_t pivot = a[n / 2];
	size_t i = 0, j = n - 1;
	for (;; i++, j--) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i >= j)
			return j + 1;
		const uint32_t t = a[i];
		a[i] = a[j];
		a[j] = t;
	}
}

static void quick_sort(uint32_t *a, size_t n)
{
	while (n > 8) {
		const size_t left = partition(a, n);
		quick_sort(a, left);
		a += left;
		n -= left;
	}
}

static void run_partition(size_t turns)
{
	for (size_t turn = 0; turn < turns; turn += 13 << 16) {
		renew_keys();
		memcpy(keys, random_keys, sizeof(keys));
		quick_sort(keys, 1 << 16);
	}
}

__attribute__((noinline, noclone)) static void merge(uint32_t *to, const uint32_t *a,
						     const uint32_t *b, size_t n)
{
	const uint32_t *a_end = a + n, *b_end = b + n;
	while (a < a_end && b < b_end) {
		if (*a < *b) {
			*to++ = *a++;
			UNKNOWN(to);
		} else {
			*to++ = *b++;
		}
	}
	while (a < a_end)
		*to++ = *a++;
	while (b < b_end)
		*to++ = *b++;
}

static void run_merge(size_t turns)
{
	for (size_t turn = 0; turn < turns; turn += 16 << 16) {
		renew_keys();
		memcpy(keys, random_keys, sizeof(keys));
		for (size_t n = 1; n < 1 << 16; n *= 2) {
			for (size_t i = 0; i < 1 << 16; i += 2 * n)
				merge(merged + i, keys + i, keys + i + n, n);
			memcpy(keys, merged, sizeof(keys));
		}
	}
}

__attribute__((noinline, noclone)) static void insertion(uint32_t *a, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const uint32_t key = a[i];
		size_t j = i;
		for (; j > 0 && a[j - 1] > key; j--)
			a[j] = a[j - 1];
		a[j] = key;
	}
}

static void run_insertion(size_t turns)
{
	for (size_t turn = 0; turn < turns; turn += 16 * 4096) {
		renew_keys();
		memcpy(keys, random_keys, sizeof(keys));
		for (size_t i = 0; i < 1 << 16; i += 16)
			insertion(keys + i, 16);
	}
}

__attribute__((noinline, noclone)) static void sift(uint32_t *a, size_t at, size_t n)
{
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && a[child] < a[child + 1]) {
			child++;
			UNKNOWN(child);
		}
		if (a[at] >= a[child])
			return;
		const uint32_t t = a[at];
		a[at] = a[child];
		a[child] = t;
	}
}

static void run_sift(size_t turns)
{
	for (size_t turn = 0; turn < turns; turn += 12 * 4096) {
		renew_keys();
		memcpy(keys, random_keys, 4096 * sizeof(*keys));
		for (size_t i = 2048; i-- > 0;)
			sift(keys, i, 4096);
		for (size_t n = 4096; n-- > 1;) {
			keys[0] = keys[n];
			sift(keys, 0, n);
		}
	}
}

/* In a sorted array: each comparison is a toss. */
KERNEL(binary_search)
{
	const uint64_t *sorted = (const uint64_t *)memory;
	const size_t n = bytes / sizeof(*sorted);
	uint64_t found = 0, state = 12345;
	unsigned steps = 1;
	for (size_t rest = n; rest > 1; rest /= 2)
		steps++;
	for (size_t turn = 0; turn < turns; turn += steps) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		const uint64_t key = (state >> 11) % n * 16;
		size_t low = 0, high = n;
		while (low < high) {
			const size_t middle = (low + high) / 2;
			if (sorted[middle] < key) {
				low = middle + 1;
				UNKNOWN(low);
			} else {
				high = middle;
				UNKNOWN(high);
			}
		}
		found += low;
	}
	word_sink = found;
}

/* ---- pointers ---- */

#define CHASE(name, N)                                                                      \
	KERNEL(name)                                                                        \
	{                                                                                   \
		void **at[N];                                                               \
		for (int k = 0; k < N; k++) /* parts of one cycle */                        \
			at[k] = (void **)(memory + bytes / N / LINE * k * LINE);            \
		for (size_t turn = 0; turn < turns; turn += N)                              \
			_Pragma("GCC unroll 4") for (int k = 0; k < N; k++) at[k] = *at[k]; \
		for (int k = 0; k < N; k++)                                                 \
			word_sink = (uint64_t)at[k];                                        \
	}
CHASE(chase_1, 1)
CHASE(chase_2, 2)
CHASE(chase_4, 4)

/* Lines at addresses by chance, none of which waits for another. */
KERNEL(random_lines)
{
	uint64_t all = 0;
	const size_t n = bytes / LINE;
	for (size_t turn = 0; turn < turns; turn++) {
		uint64_t state = turn * UINT64_C(0x9e3779b97f4a7c15);
		state = (state ^ state >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
		all += *(uint64_t *)(memory + ((state >> 32) * n >> 32) * LINE);
	}
	word_sink = all;
}

/* ---- a page for each line ---- */

#define PAGES(name, step, n_pages)                                         \
	KERNEL(name)                                                       \
	{                                                                  \
		uint64_t all = 0;                                          \
		for (size_t turn = 0; turn < turns; turn += (n_pages)) {   \
			for (size_t i = 0; i < (n_pages); i++)             \
				all += *(uint64_t *)(memory + i * (step)); \
			USED;                                              \
		}                                                          \
		word_sink = all;                                           \
	}
/* More pages than any TLB has entries for. */
PAGES(pages_8k, 4096 + 64, 8192)
PAGES(pages_16k, 4096 + 64, 16384)
PAGES(pages_32k, 4096 + 64, 32768)
PAGES(pages_8k_by_2, 2 * 4096 + 64, 8192)
PAGES(pages_16k_by_2, 2 * 4096 + 64, 16384)
PAGES(pages_8k_by_4, 4 * 4096 + 64, 8192)

/* ---- loads behind stores whose addresses end in the same 12 bits ---- */

/* Four to a turn, so that they take longer than the turn's counter. */
#define ALIAS(name, apart)                                                                   \
	KERNEL(name)                                                                         \
	{                                                                                    \
		double *to = (double *)(memory + 65536 + (apart)), *from = (double *)memory; \
		for (size_t turn = 0; turn < turns; turn += SMALL / 2) {                     \
			for (size_t i = 0; i < SMALL / 2; i += 4)                            \
				_Pragma("GCC unroll 4") for (int k = 0; k < 4; k++)          \
				{                                                            \
					double x = from[i + k];                              \
					UNKNOWN_FP(x);                                       \
					to[i + k] = x;                                       \
				}                                                            \
			USED;                                                                \
		}                                                                            \
	}
ALIAS(alias_8, 8)
ALIAS(alias_16, 16)
ALIAS(alias_64, 64)

/* ---- stores that the next load needs ---- */

#define FORWARD(name, type, step)                           \
	KERNEL(name)                                        \
	{                                                   \
		volatile type x = 1;                        \
		for (size_t turn = 0; turn < turns; turn++) \
			x = x step;                         \
		sink = (double)x;                           \
	}
FORWARD(forward_int, uint64_t, *3 + 1)
FORWARD(forward_double, double, *0.999 + 1)

/* A place that an index leads to, each time the same. */
KERNEL(forward_index)
{
	uint64_t one = 1;
	for (size_t turn = 0; turn < turns; turn++) {
		word_results[word_results[one & 7] & 1] += one;
		UNKNOWN(one);
	}
}

/* Two narrow stores, one wide load: no store has all that the load needs. */
KERNEL(forward_parts)
{
	typedef uint32_t half __attribute__((may_alias));
	volatile uint64_t *whole = &word_results[0];
	volatile half *halves = (volatile half *)whole;
	UNKNOWN(whole);
	UNKNOWN(halves);
	for (size_t turn = 0; turn < turns; turn++) {
		const uint64_t x = *whole;
		halves[0] = (uint32_t)x + 1;
		halves[1] = (uint32_t)(x >> 32) + 3;
	}
	word_sink = *whole;
}

#include "account_main.h"
