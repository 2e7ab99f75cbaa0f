#include "cache/class_sample.h"
#include "cache/traffic.h"

#include <criterion/criterion.h>
#include <math.h>

#define DRAWS 20000

static void expect_spread(uint64_t classes, unsigned n)
{
	cr_assert_eq(__builtin_popcountll(classes), n);
	for (unsigned remainder = 0; remainder < n; remainder++) {
		unsigned found = 0;
		for (unsigned k = remainder; k < CACHE_CLASSES; k += n)
			found += classes >> k & 1;
		cr_assert_eq(found, 1, "%u of classes with remainder %u modulo %u", found,
			     remainder, n);
	}
}

Test(class_sample, is_spread)
{
	for (unsigned n = 1; n <= CACHE_CLASSES; n *= 2)
		for (int i = 0; i < 200; i++) {
			const uint64_t classes = class_sample(n);
			expect_spread(classes, n);
			if (n == 1)
				continue;
			const uint64_t half = class_sample_half(classes, n);
			cr_assert_eq(half & ~classes, 0);
			expect_spread(half, n / 2);
		}
}

Test(class_sample, takes_any_number)
{
	for (unsigned n = 1; n <= CACHE_CLASSES; n++)
		cr_assert_eq(__builtin_popcountll(class_sample(n)), n);
}

/* Six standard deviations: a class in a hundred million tests is further off. */
static void expect_even(unsigned n, unsigned halve)
{
	unsigned drawn[CACHE_CLASSES] = {0};
	for (int i = 0; i < DRAWS; i++) {
		uint64_t classes = class_sample(n);
		classes = halve ? class_sample_half(classes, n) : classes;
		for (unsigned k = 0; k < CACHE_CLASSES; k++)
			drawn[k] += classes >> k & 1;
	}
	const double p = (double)(halve ? n / 2 : n) / CACHE_CLASSES;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		cr_expect_lt(fabs(drawn[k] - p * DRAWS), 6 * sqrt(p * (1 - p) * DRAWS) + 1,
			     "class %u: %u", k, drawn[k]);
}

Test(class_sample, any_class_is_as_likely)
{
	const unsigned numbers[] = {1, 2, 4, 5, 8, 16, 21, 32};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		expect_even(numbers[i], false);
	expect_even(4, true);
	expect_even(16, true);
}
