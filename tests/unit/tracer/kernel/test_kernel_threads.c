#include "tracer/kernel/kernel_threads.h"

#include "profile/profile_kernels.h"
#include "tests/unit/splitmix.h"
#include "tracer/gate/protocol.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* A process of three threads, of which the first has started the others, that come into two kernels
 * and leave them at random, and count meanwhile; against one that says where each count belongs. */

#define N_SLOTS 4
#define N_COUNTERS 7
#define STACK 0x100000

static bool stack_of(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	*start = address / STACK * STACK;
	*end = *start + STACK;
	return true;
}

struct reference {
	int depth;
	uint32_t own; /* of the outermost call; 0: none */
	uint64_t sp[8];
	uint64_t counted[3][N_COUNTERS]; /* outside, and for each kernel */
};

static uint64_t *counter(uint8_t *slots, int slot, int i)
{
	return (uint64_t *)(slots + (size_t)slot * SLOT_STRIDE + SLOT_COUNTERS) + i;
}

static uint64_t limit(uint8_t *slots, int slot)
{
	return *(uint64_t *)(slots + (size_t)slot * SLOT_STRIDE + G_KERNEL_LIMIT);
}

static void count(uint8_t *slots, int slot, struct reference *of, uint32_t kernel, uint64_t n)
{
	const int i = (int)(n % N_COUNTERS);
	*counter(slots, slot, i) += n;
	of->counted[kernel][i] += n;
}

static void check(const struct kernel_threads *threads, uint8_t *slots, int slot,
		  const struct reference *of)
{
	size_t n;
	uint64_t told[3][N_COUNTERS] = {0};
	const struct kernel_bank *banks = kernel_threads_banks(threads, slot, &n);
	for (int i = 0; i < N_COUNTERS; i++) {
		told[0][i] = *counter(slots, slot, i);
		for (size_t b = 0; b < n; b++) {
			const uint64_t share = kernel_bank_count(&banks[b], 0, (uint32_t)i,
								 *counter(slots, slot, i));
			told[banks[b].kernel + 1][i] = share;
			told[0][i] -= share;
		}
	}
	cr_assert_arr_eq(told, of->counted, sizeof(told), "slot %d", slot);
}

Test(kernel_threads, random_calls)
{
	const size_t size = (size_t)N_SLOTS * SLOT_STRIDE;
	uint8_t *slots = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct profile *profile = profile_create();
	profile->kernels = calloc(2, sizeof(*profile->kernels));
	profile->n_kernels = profile->cap_kernels = 2;
	profile->kernels[0].name = strdup("a");
	profile->kernels[1].name = strdup("b");
	struct kernel_threads *threads = kernel_threads_create(profile, slots, stack_of, NULL);
	const struct kernel_counters counters = {{N_COUNTERS, 0}};
	struct reference of[N_SLOTS] = {0};
	uint64_t state = 1, calls[2] = {0};
	for (int slot = 1; slot < N_SLOTS; slot++)
		kernel_threads_begin(threads, slot, slot > 1, (uint32_t)slot, counters);
	for (int step = 0; step < 200000; step++) {
		const uint64_t random = random_number(&state);
		const int slot = 1 + (int)(random % (N_SLOTS - 1));
		struct reference *r = &of[slot];
		/* what translated code would ask before it goes on */
		if (limit(slots, slot) == 0)
			kernel_threads_look(threads, slot, STACK * (uint64_t)slot + 8, false,
					    counters);
		const uint32_t works = r->own ? r->own : of[1].own;
		if (random >> 8 & 1) {
			count(slots, slot, r, works, random >> 32);
		} else if (random >> 9 & 1 && r->depth < 8) {
			const uint32_t kernel = random >> 10 & 1;
			const uint64_t sp = r->depth ? r->sp[r->depth - 1] - 64
						     : STACK * (uint64_t)(slot + 1) - 16;
			r->sp[r->depth++] = sp;
			if (!works) {
				r->own = kernel + 1;
				calls[kernel]++;
				r->sp[0] = sp;
				r->depth = 1;
			}
			kernel_threads_enter(threads, slot, kernel, sp, counters);
		} else if (r->depth) {
			const uint64_t sp = r->sp[--r->depth];
			if (!r->depth)
				r->own = 0;
			kernel_threads_look(threads, slot, sp, true, counters);
		}
		check(threads, slots, slot, r);
	}
	cr_assert_eq(profile->kernels[0].calls, calls[0]);
	cr_assert_eq(profile->kernels[1].calls, calls[1]);
	cr_assert(calls[0] > 1000 && calls[1] > 1000);
	for (int slot = N_SLOTS - 1; slot > 0; slot--)
		kernel_threads_end(threads, slot);
	kernel_threads_destroy(threads);
	profile_destroy(profile);
	munmap(slots, size);
}
