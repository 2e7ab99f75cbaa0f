/* Other loops of the classes of account_loops.c (account_unseen.def), written before the model was
 * mended by these. */
#define LOOPS "account_unseen.def"
#include "account_data.h"

/* ---- dependency chains ---- */

KERNEL(xorshift)
{
	uint64_t x = 88172645463325252;
	for (size_t turn = 0; turn < turns; turn++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	word_sink = x;
}

#define OVER(name, type, array, start, ...)                          \
	KERNEL(name)                                                 \
	{                                                            \
		type x = start;                                      \
		for (size_t turn = 0; turn < turns; turn += SMALL) { \
			for (size_t i = 0; i < SMALL; i++) {         \
				const __auto_type y = array[i];      \
				__VA_ARGS__;                         \
			}                                            \
			USED;                                        \
		}                                                    \
		sink = (double)x;                                    \
	}
OVER(largest_int, uint64_t, words, 0, x = (x + 1 > y ? x + 1 : y); UNKNOWN(x))
OVER(smallest_float, float, floats, 3, x = (x < y ? x : y) * 1.0001f)
OVER(smooth_float, float, floats, 1, x = x + 0.125f * (y - x))
OVER(rotating_hash, uint64_t, words, 1, x = ((x << 31 | x >> 33) ^ y) * 5 + 0xe6546b64)

KERNEL(adler)
{
	uint32_t a = 1, b = 0;
	for (size_t turn = 0; turn < turns; turn += SMALL) {
		for (size_t i = 0; i < SMALL; i++) {
			a += text[i];
			b += a;
			UNKNOWN(a);
			UNKNOWN(b);
		}
		USED;
	}
	word_sink = a + b;
}

KERNEL(crc_by_table)
{
	uint32_t x = ~0u;
	for (size_t turn = 0; turn < turns; turn++)
		x = half_words[(x ^ text[turn % SMALL]) & 255] ^ x >> 8;
	word_sink = x;
}

KERNEL(automaton)
{
	const unsigned char *state = text; /* numbers of other states */
	uint64_t x = 0;
	for (size_t turn = 0; turn < turns; turn++)
		x = state[x * 4 + (turn & 3)];
	word_sink = x;
}

KERNEL(running_sum)
{
	for (size_t turn = 0; turn < turns; turn += SMALL) {
		for (size_t i = 1; i < SMALL; i++) {
			word_results[i] += word_results[i - 1];
			USED; /* through memory */
		}
	}
}

KERNEL(matrix_power)
{
	double a = 0.6, b = 0.8, c = -0.8, d = 0.6, x = 1, y = 0;
	UNKNOWN_FP(a);
	UNKNOWN_FP(b);
	UNKNOWN_FP(c);
	UNKNOWN_FP(d);
	for (size_t turn = 0; turn < turns; turn++) {
		const double next = a * x + b * y;
		y = c * x + d * y;
		x = next;
		UNKNOWN_FP(x);
		UNKNOWN_FP(y);
	}
	sink = x + y;
}

__attribute__((noinline, noclone)) static uint64_t mixed(uint64_t x, uint64_t y)
{
	x = (x ^ y) * UINT64_C(0x9e3779b97f4a7c15);
	return x ^ x >> 29;
}
OVER(hash_by_call, uint64_t, words, 1, x = mixed(x, y))

__attribute__((noinline, noclone)) static double filtered(double x, double y)
{
	return (x * 0.9 + y) * 0.1 + 0.5 * x;
}
OVER(filter_by_call, double, numbers, 1, x = filtered(x, y))

/* Calls of other shapes: through a pointer, of what calls something itself, of what calls itself,
 * of a library's function; and such that do not wait for each other. */
#define CALLED __attribute__((noinline, noclone)) static

CALLED uint64_t scrambled(uint64_t x, uint64_t y)
{
	x = (x + y) * UINT64_C(0xff51afd7ed558ccd);
	return (x ^ x >> 33) + y;
}
static uint64_t (*volatile by_pointer)(uint64_t x, uint64_t y) = scrambled;
KERNEL(hash_by_pointer)
{
	uint64_t (*const call)(uint64_t, uint64_t) = by_pointer;
	uint64_t x = 1;
	for (size_t turn = 0; turn < turns; turn++)
		x = call(x, turn);
	word_sink = x;
}

CALLED double newton_step(double x, double y)
{
	return 0.5 * (x + y / x);
}
OVER(root_by_call, double, numbers, 1, x = newton_step(x, y))

CALLED uint64_t mixed_twice(uint64_t x, uint64_t y)
{
	x = mixed(x, y);
	UNKNOWN(x);
	return scrambled(x, y) >> 1;
}
OVER(hash_by_two_calls, uint64_t, words, 1, x = mixed_twice(x, y) | 1)

CALLED uint64_t deeper(uint64_t x, unsigned depth)
{
	if (!depth)
		return x;
	x = deeper(x * 5, depth - 1);
	UNKNOWN(x);
	return x * 3;
}
OVER(hash_by_recursion, uint64_t, words, 1, x = deeper(x ^ y, 6))

OVER(exp_by_call, double, numbers, 1, x = exp(-x * y))
MAP(exp_of_each, double, results, numbers, exp(x))

CALLED uint64_t combined(uint64_t x)
{
	const uint64_t a = (x ^ x >> 7) + 3, b = (x ^ x >> 11) + 5, c = x + (x << 3);
	return (a ^ b) + (c | 1) + (a & c);
}
MAP(combined_each, uint64_t, word_results, words, combined(x))

/* ---- divisions ---- */

MAP(small_quotients, uint64_t, word_results, words,
    (x | UINT64_C(1) << 63) / (x >> 3 | UINT64_C(1) << 59))
MAP(large_quotients, uint64_t, word_results, words, (x | UINT64_C(1) << 63) / ((x & 7) | 8))
MAP(signed_remainders, int64_t, word_results, words, (x >> 20) % ((x & 0xfffff) | 4096))
MAP(remainders_32, uint32_t, half_results, half_words, x % ((x >> 16) | 1))
MAP(root_of_quotient, double, results, numbers, __builtin_sqrt(3.1 / x))

KERNEL(halving_quotients)
{
	uint64_t x = ~UINT64_C(0), y = 3;
	UNKNOWN(y);
	for (size_t turn = 0; turn < turns; turn++)
		x = x / y | UINT64_C(1) << 63;
	word_sink = x;
}

/* ---- mispredicted branches ---- */

KERNEL(count_bits)
{
	uint64_t n = 0, state = 1;
	for (size_t turn = 0; turn < turns; turn += 3) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		for (uint32_t rest = state >> 58; rest; rest &= rest - 1) {
			n++;
			UNKNOWN(n);
		}
	}
	word_sink = n;
}

KERNEL(runs_of_text)
{
	uint64_t state = 1, runs = 0, before = 0;
	for (size_t turn = 0; turn < turns; turn++) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		const uint64_t now = state >> 63;
		if (now != before) {
			runs++;
			UNKNOWN(runs);
		}
		before = now;
	}
	word_sink = runs;
}

KERNEL(three_kinds)
{
	uint64_t a = 0, b = 0, c = 0;
	for (size_t turn = 0; turn < turns; turn += KEYS) {
		renew_keys();
		for (size_t i = 0; i < KEYS; i++) {
			const uint32_t kind = random_keys[i] & 15;
			if (kind < 5) {
				a += kind;
				UNKNOWN(a);
			} else if (kind < 10) {
				b ^= kind;
				UNKNOWN(b);
			} else {
				c += 2 * kind;
				UNKNOWN(c);
			}
		}
	}
	word_sink = a + b + c;
}

__attribute__((noinline, noclone)) static void shell_sort(uint32_t *a, size_t n)
{
	static const size_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
	for (size_t g = 0; g < sizeof(gaps) / sizeof(*gaps); g++)
		for (size_t i = gaps[g]; i < n; i++) {
			const uint32_t key = a[i];
			size_t j = i;
			for (; j >= gaps[g] && a[j - gaps[g]] > key; j -= gaps[g])
				a[j] = a[j - gaps[g]];
			a[j] = key;
		}
}

static void run_shell_sort(size_t turns)
{
	for (size_t turn = 0; turn < turns / (16 * 1024); turn++) {
		if (turn % (KEYS / 1024) == 0)
			renew_keys();
		memcpy(keys, random_keys + turn % (KEYS / 1024) * 1024, 1024 * sizeof(*keys));
		shell_sort(keys, 1024);
	}
}

struct node {
	uint32_t key, left, right; /* indices; 0: none */
};
static struct node tree[256];

__attribute__((noinline, noclone)) static uint64_t tree_search(size_t turns)
{
	uint64_t found = 0;
	for (size_t turn = 0; turn < turns / 8; turn++) {
		if (turn % KEYS == 0)
			renew_keys();
		const uint32_t key = random_keys[turn % KEYS];
		uint32_t at = 1;
		while (at) {
			found++;
			if (key < tree[at].key) {
				at = tree[at].left;
				UNKNOWN(found);
			} else {
				at = tree[at].right;
			}
		}
	}
	return found;
}

static void run_tree_search(size_t turns)
{
	tree[1] = (struct node){random_keys[0], 0, 0};
	for (uint32_t i = 2; i < 200; i++) {
		tree[i] = (struct node){random_keys[i], 0, 0};
		uint32_t at = 1, *to = NULL;
		for (; at; at = *to)
			to = tree[i].key < tree[at].key ? &tree[at].left : &tree[at].right;
		*to = i;
	}
	word_sink = tree_search(turns);
}

/* As gcc has it without branches: the next look waits for the last.  clang tosses. */
KERNEL(lower_bound_search)
{
	const uint64_t *sorted = (const uint64_t *)memory;
	const size_t n = bytes / sizeof(*sorted);
	uint64_t state = 1;
	size_t at = 0;
	for (size_t turn = 0; turn < turns;) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407 + at;
		const uint64_t key = ((state >> 32) * n >> 32) * 16;
		at = 0;
		for (size_t half = n / 2; half; half /= 2, turn++)
			at += (sorted[at + half - 1] < key) * half;
	}
	word_sink = at;
}

/* An interval of a sorted array of 16 bytes each, by thirds: a toss of three. */
KERNEL(interval_search)
{
	const struct {
		uint64_t key, other;
	} *sorted = (const void *)memory;
	const size_t n = bytes / sizeof(*sorted);
	uint64_t state = 1, found = 0;
	for (size_t turn = 0; turn < turns;) {
		state = state * UINT64_C(2862933555777941757) + 3037000493;
		const uint64_t key = (state >> 11) % n * 32;
		size_t low = 0, rest = n;
		for (; rest > 2; turn++) {
			const size_t third = rest / 3;
			if (key < sorted[low + third].key) {
				rest = third;
				UNKNOWN(rest);
			} else if (key < sorted[low + 2 * third].key) {
				low += third;
				rest = third;
				UNKNOWN(low);
			} else {
				low += 2 * third;
				rest -= 2 * third;
				UNKNOWN(low);
			}
		}
		found += low;
	}
	word_sink = found;
}

/* ---- lines ---- */

/* A list with something else in its nodes. */
KERNEL(list_of_two)
{
	uint64_t all = 0;
	void **at = (void **)memory;
	for (size_t turn = 0; turn < turns; turn++) {
		all += (uint64_t)at[3] + (uint64_t)at[5];
		at = *at;
	}
	word_sink = all;
}

/* Three independent look-ups a turn, each of two words of its line. */
KERNEL(table_lookups)
{
	const size_t n = bytes / LINE;
	uint64_t all = 0, state = 7;
	for (size_t turn = 0; turn < turns; turn += 3) {
		for (int k = 0; k < 3; k++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			const uint64_t *row =
				(const uint64_t *)(memory + ((state >> 32) * n >> 32) * LINE);
			all += row[0] ^ row[7];
		}
	}
	word_sink = all;
}

/* By an array of indices. */
KERNEL(gathered)
{
	const size_t n = bytes / LINE;
	uint64_t all = 0;
	for (size_t turn = 0; turn < turns; turn += 1 << 16)
		for (size_t i = 0; i < 1 << 16; i++)
			all += *(uint64_t *)(memory +
					     ((random_keys[i] ^ turn * 2654435761u) % n) * LINE);
	word_sink = all;
}

/* From a random head two steps along a list. */
KERNEL(bucket_heads)
{
	const size_t n = bytes / LINE;
	uint64_t all = 0, state = 11;
	for (size_t turn = 0; turn < turns; turn += 3) {
		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		void **at = (void **)(memory + ((state >> 32) * n >> 32) * LINE);
		at = *at;
		at = *at;
		all += (uint64_t)at;
	}
	word_sink = all;
}

KERNEL(pages_12k_by_3)
{
	uint64_t all = 0;
	for (size_t turn = 0; turn < turns; turn += 10000) {
		for (size_t i = 0; i < 10000; i++)
			all += *(uint64_t *)(memory + i * (3 * 4096 + 128));
		USED;
	}
	word_sink = all;
}

/* ---- loads behind stores whose addresses end alike ---- */

KERNEL(alias_int)
{
	uint32_t *to = (uint32_t *)(memory + 4096 * 5 + 4), *from = (uint32_t *)memory;
	for (size_t turn = 0; turn < turns; turn += SMALL)
		for (size_t i = 0; i < SMALL; i++) {
			uint32_t x = from[i] + 1;
			UNKNOWN(x);
			to[i] = x;
		}
}

/* Rows of a matrix that are 4,096 bytes long: a column's neighbour. */
KERNEL(alias_rows)
{
	double *at = (double *)memory;
	for (size_t turn = 0; turn < turns; turn += 256)
		for (size_t i = 2; i < 258; i++) {
			double x = at[i] + at[i + 512];
			UNKNOWN_FP(x);
			at[i + 1024 + 1] = x;
		}
}

/* ---- stores that the next load needs ---- */

/* Four bytes become a word. */
KERNEL(forward_bytes)
{
	volatile unsigned char *out = (volatile unsigned char *)&half_results[0];
	volatile uint32_t *in = &half_results[0];
	UNKNOWN(out);
	uint32_t x = 1;
	for (size_t turn = 0; turn < turns; turn++) {
		out[0] = (unsigned char)x;
		out[1] = (unsigned char)(x >> 8);
		out[2] = (unsigned char)(x >> 16);
		out[3] = (unsigned char)(x >> 24);
		x = *in + 3;
	}
	word_sink = x;
}

/* Half of what was stored, which all cores forward. */
KERNEL(forward_low_half)
{
	volatile uint64_t *out = &word_results[3];
	volatile uint32_t *in = (volatile uint32_t *)&word_results[3];
	UNKNOWN(out);
	uint64_t x = 1;
	for (size_t turn = 0; turn < turns; turn++) {
		*out = x;
		x = *in + UINT64_C(5);
	}
	word_sink = x;
}

/* Two numbers become a vector. */
KERNEL(forward_pair)
{
	typedef double pair __attribute__((vector_size(16)));
	volatile double *out = &results[16];
	volatile pair *in = (volatile pair *)&results[16];
	pair x = {1, 2};
	UNKNOWN(out);
	for (size_t turn = 0; turn < turns; turn++) {
		out[0] = x[1];
		out[1] = x[0];
		x = *in * 0.5 + 1.0;
	}
	sink = x[0] + x[1];
}

/* A word from the middle of two others. */
KERNEL(forward_shifted)
{
	volatile uint64_t *out = &word_results[8];
	char *in = (char *)&word_results[8] + 4;
	uint64_t x = 1;
	UNKNOWN(out);
	UNKNOWN(in);
	for (size_t turn = 0; turn < turns; turn++) {
		out[0] = x;
		out[1] = x + 1;
		x = *(volatile uint64_t *)in + 1;
	}
	word_sink = x;
}

/* All of them in one bin. */
KERNEL(histogram_one)
{
	for (size_t turn = 0; turn < turns; turn += SMALL)
		for (size_t i = 0; i < SMALL; i++) {
			uint64_t bin = text[i] >> 8;
			UNKNOWN(bin);
			half_results[bin]++;
		}
}

/* What an interpreter does: the top of a stack in memory, which moves up and down. */
KERNEL(stack_machine)
{
	volatile uint64_t *top = &word_results[64];
	*top = 1;
	for (size_t turn = 0; turn < turns; turn++) {
		uint64_t up = turn & 1;
		const uint64_t x = *top;
		top = &word_results[64] + up;
		UNKNOWN(top);
		*top = x * 3 + 1;
	}
	word_sink = *top;
}

#include "account_main.h"
