/* Links the lines of a memory in random order, for the kernels of random access. */
#include "machine/kernels/random_access.h"

#include <string.h>

#define DECLARE(chains) void rf_random_access_##chains(uint64_t, struct random_state *);
RANDOM_KERNELS(DECLARE)

#define ROW(chains_) {.chains = chains_, .run = rf_random_access_##chains_},
const struct random_kernel random_kernels[] = {RANDOM_KERNELS(ROW)};
const size_t n_random_kernels = sizeof(random_kernels) / sizeof(random_kernels[0]);

/* What a prepared line begins with; see random_access_prepare(). */
struct line {
	struct line *next, *in_order;
};

static struct line *line_at(const void *memory, size_t line_bytes, size_t i)
{
	return (struct line *)((char *)memory + i * line_bytes);
}

/* A step of SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number
 * generators"). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 ... n - 1, by multiplication (Lemire 2019, "Fast random integer generation in an interval");
 * the bias is below n / 2^64. */
static size_t random_below(uint64_t *state, size_t n)
{
	return (unsigned __int128)next_random(state) * n >> 64;
}

/* A uniformly random order of the lines (Fisher and Yates's shuffle, Durstenfeld's form), in the
 * second words: the positions do not depend on what is swapped, so that the core has many swaps
 * under way at once. */
static void shuffle(void *memory, size_t n, size_t line_bytes, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		line_at(memory, line_bytes, i)->in_order = line_at(memory, line_bytes, i);
	for (size_t i = n; i > 1; i--) {
		struct line *a = line_at(memory, line_bytes, i - 1);
		struct line *b = line_at(memory, line_bytes, random_below(&seed, i));
		struct line *swapped = a->in_order;
		a->in_order = b->in_order;
		b->in_order = swapped;
	}
}

void random_access_prepare(void *memory, size_t bytes, size_t line_bytes, uint64_t seed)
{
	size_t n = bytes / line_bytes;
	shuffle(memory, n, line_bytes, seed);
	struct line *first = line_at(memory, line_bytes, 0)->in_order, *from = first;
	for (size_t i = 1; i < n; i++) {
		struct line *to = line_at(memory, line_bytes, i)->in_order;
		from->next = to;
		from = to;
	}
	from->next = first;
}

void random_state_init(struct random_state *state, const void *memory, size_t bytes,
		       size_t line_bytes, int chains)
{
	size_t apart = bytes / line_bytes / chains;
	memset(state, 0, sizeof(*state));
	for (int i = 0; i < chains; i++)
		state->at[i] = line_at(memory, line_bytes, i * apart)->in_order;
}
