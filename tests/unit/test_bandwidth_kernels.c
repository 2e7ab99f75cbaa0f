#include "machine/bandwidth_kernels.h"
#include "machine/cpu_features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 2 * BANDWIDTH_GRAIN / 8, GUARD = 64 };

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* An array between guards, all of it filled with different normal numbers. */
struct guarded { double *whole, *array; };

static struct guarded guarded_create(double first)
{
	struct guarded guarded;
	size_t n = WORDS + 2 * GUARD;
	guarded.whole = aligned_alloc(64, n * sizeof(double));
	guarded.array = guarded.whole + GUARD;
	for (size_t i = 0; i < n; i++)
		guarded.whole[i] = first + i;
	return guarded;
}

static void assert_guards(const struct guarded *guarded, double first)
{
	for (size_t i = 0; i < GUARD; i++) {
		cr_assert_eq(guarded->whole[i], first + i);
		size_t after = GUARD + WORDS + i;
		cr_assert_eq(guarded->whole[after], first + after);
	}
}

static double expected_element(const char *op, double a, double b, double c, double s)
{
	if (!strncmp(op, "write", 5))
		return s;
	if (!strncmp(op, "copy", 4))
		return b;
	return !strncmp(op, "triad", 5) ? b + s * c : a;
}

static uint64_t xor_of(const double *values, size_t n)
{
	uint64_t sum = 0, word;
	for (size_t i = 0; i < n; i++) {
		memcpy(&word, &values[i], sizeof(word));
		sum ^= word;
	}
	return sum;
}

/* Every element of the arrays is treated once a pass, and nothing outside of them. */
static void check_bandwidth_kernel(const struct bandwidth_kernel *kernel, uint64_t passes)
{
	struct guarded a = guarded_create(1), b = guarded_create(1e4), c = guarded_create(1e6);
	struct bandwidth_state state;
	bandwidth_state_init(&state);
	for (int i = 0; i < 8; i++)
		state.constant[i] = 0.5; /* b + s * c is exact then, fused or not */
	kernel->run(a.array, b.array, c.array, WORDS * 8, passes, &state);
	for (size_t i = 0; i < WORDS; i++)
		cr_assert_eq(a.array[i], expected_element(kernel->op, 1 + GUARD + i, 1e4 + GUARD + i,
							  1e6 + GUARD + i, 0.5),
			     "%s %s %d: element %zu", kernel->isa, kernel->op, kernel->streams, i);
	uint64_t sum = 0;
	for (int i = 0; i < 8; i++)
		sum ^= state.sum[i];
	if (is(kernel->op, "read")) /* two passes cancel */
		cr_assert_eq(sum, passes % 2 ? xor_of(a.array, WORDS) : 0);
	assert_guards(&a, 1);
	free(a.whole);
	free(b.whole);
	free(c.whole);
}

Test(bandwidth_kernels, bandwidth_kernels_move_what_they_state)
{
	int checked = 0;
	for (size_t i = 0; i < n_bandwidth_kernels; i++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[i];
		if (!cpu_has(kernel->needs))
			continue;
		for (uint64_t passes = 1; passes <= 3; passes++)
			check_bandwidth_kernel(kernel, passes);
		checked++;
	}
	cr_assert_geq(checked, 14);
}

Test(bandwidth_kernels, read_sees_every_word)
{
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		if (!is(kernel->op, "read") || !cpu_has(kernel->needs))
			continue;
		uint64_t *words = aligned_alloc(64, BANDWIDTH_GRAIN);
		for (size_t at = 0; at < BANDWIDTH_GRAIN / 8; at++) {
			struct bandwidth_state state;
			bandwidth_state_init(&state);
			memset(words, 0, BANDWIDTH_GRAIN);
			words[at] = 0x123456789;
			kernel->run(words, NULL, NULL, BANDWIDTH_GRAIN, 1, &state);
			uint64_t sum = 0;
			for (int i = 0; i < 8; i++)
				sum ^= state.sum[i];
			cr_assert_eq(sum, 0x123456789);
		}
		free(words);
	}
}

Test(bandwidth_kernels, arrays_and_stores_are_as_the_operation_says)
{
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		int arrays = !strncmp(kernel->op, "triad", 5) ? 3 : !strncmp(kernel->op, "copy", 4) ? 2 : 1;
		cr_assert_eq(kernel->arrays, arrays);
		cr_assert_eq(kernel->non_temporal, strstr(kernel->op, "_nt") != NULL);
	}
}
