/* A drain is made or not, whichever of its allocations fails, and its threads get their share of
 * it. */
#include "tracer/traffic/drain.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_ALLOCATIONS 2000

static long until_failure; /* allocations, the one that fails among them; 0: none fails */

static bool fails(void)
{
	if (!until_failure || --until_failure)
		return false;
	errno = ENOMEM;
	return true;
}

#ifndef __SANITIZE_ADDRESS__
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
	return fails() ? NULL : __libc_realloc(memory, size);
}
#endif

/* False: number `which` is one more than there are. */
static bool try_without(long which, const struct traffic_options *options)
{
	struct profile *profile = profile_create();
	struct drain *drain;
	cr_assert(profile);
	until_failure = which;
	struct rf_error *error = drain_create(options, profile, &drain);
	const bool failed = !until_failure;
	until_failure = 0;
	cr_assert_eq(!drain, !!error, "allocation %ld", which);
	drain_finish(drain, &(struct told_threads){0});
	drain_destroy(drain);
	rf_error_destroy(error);
	profile_destroy(profile);
	return failed;
}

#define MOST_THREADS 40

static uint32_t depth_of(const uint8_t *slot)
{
	uint32_t depth;
	memcpy(&depth, slot + G_TRACE_DEPTH, sizeof(depth));
	return depth;
}

/* Each thread may leave as much as it likes where it is alone, and all together not much more. */
Test(drain, threads_share_what_may_wait)
{
	if (trace_config_objection())
		cr_skip_test("%s", trace_config_objection());
	const struct traffic_options options = {.trace = true, .cache = "L1=4K:4,L2=16K:8"};
	struct profile *profile = profile_create();
	struct drain *drain;
	struct drain_source *sources[MOST_THREADS];
	struct trace_config *config = trace_config_create(UINT64_MAX);
	uint8_t *slots = mmap(NULL, (size_t)MOST_THREADS * SLOT_STRIDE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert(profile && config && slots != MAP_FAILED);
	cr_assert_null(drain_create(&options, profile, &drain));
	const uint32_t space = drain_new_space(drain, NULL);
	for (uint32_t n = 0; n < MOST_THREADS; n++) {
		uint8_t *slot = slots + (size_t)n * SLOT_STRIDE;
		sources[n] = drain_add_thread(drain, config, slot, (uint64_t)slot, n, n, space);
		cr_assert(sources[n]);
		const uint32_t depth = depth_of(slots);
		cr_expect(depth >= 4 && depth <= TRACE_CHUNKS);
		cr_expect(n > 1 || depth == TRACE_CHUNKS, "alone: %u", depth);
		cr_expect(depth * (n + 1) <= 2 * TRACE_CHUNKS || depth == 4);
		for (uint32_t i = 0; i <= n; i++)
			cr_expect_eq(depth_of(slots + (size_t)i * SLOT_STRIDE), depth);
	}
	for (uint32_t n = MOST_THREADS; n-- > 1;)
		drain_remove_thread(drain, sources[n]);
	cr_expect_eq(depth_of(slots), TRACE_CHUNKS);
	drain_remove_thread(drain, sources[0]);
	drain_finish(drain, &(struct told_threads){0});
	drain_destroy(drain);
	trace_config_destroy(config);
	munmap(slots, (size_t)MOST_THREADS * SLOT_STRIDE);
	profile_destroy(profile);
}

Test(drain, each_allocation_fails_once)
{
	static const unsigned samples[] = {0, 1, 4};
	if (trace_config_objection())
		cr_skip_test("%s", trace_config_objection());
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("a sanitizer's allocator is not replaced");
#endif
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct traffic_options options = {.trace = true,
							.cache = "L1=4K:4,L2=16K:8,L3=64K:16",
							.cache_sample = samples[i]};
		long n = 0;
		while (n < MOST_ALLOCATIONS && try_without(n + 1, &options))
			n++;
		printf("1 in %u classes: %ld allocations\n", samples[i], n);
		cr_assert(n > 10 && n < MOST_ALLOCATIONS);
	}
}
