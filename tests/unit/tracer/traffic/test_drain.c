/* A drain is made or not, whichever of its allocations fails. */
#include "tracer/traffic/drain.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

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
	drain_finish(drain);
	drain_destroy(drain);
	rf_error_destroy(error);
	profile_destroy(profile);
	return failed;
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
