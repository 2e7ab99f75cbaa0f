#include "tracer/traffic/strides.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;

static uint64_t any(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % below;
}

#define DATA 0x7f0000001000ull

static struct strides *strides;
static struct line_sample told;

static uint64_t any_classes(unsigned n)
{
	uint64_t chosen = 0;
	while ((unsigned)__builtin_popcountll(chosen) < n)
		chosen |= 1ull << any(CACHE_CLASSES);
	return chosen;
}

static void begin_of(uint64_t these, uint32_t bits)
{
	told = (struct line_sample){these, bits};
	strides = strides_create(&told, &told, 4096);
}

static void begin(uint64_t these)
{
	begin_of(these, 0);
}

/* One execution: seen only when its line is. */
static void access(uint32_t who, uint64_t address, uint32_t bytes)
{
	if (line_sample_has(&told, address / CACHE_LINE))
		strides_note(strides, who, false, 0, address, bytes);
}

static struct stride_counts end(uint32_t who)
{
	const struct stride_counts counts = strides_counts(strides, who);
	strides_destroy(strides);
	return counts;
}

static struct stride_counts walk(uint64_t these, int64_t step, uint64_t n, uint32_t bytes)
{
	begin(these);
	for (uint64_t i = 0; i < n; i++)
		access(1, DATA + (1ull << 32) + (uint64_t)(step * (int64_t)i), bytes);
	return end(1);
}

/* Walks with one step through many lines: nothing of them is random, whatever classes are seen. */
Test(strides, unit_steps)
{
	for (int round = 0; round < 200; round++) {
		const uint64_t these = round ? any_classes(1 + (unsigned)any(16)) : UINT64_MAX;
		const uint32_t bytes = 1u << any(7);
		const int64_t step = round % 2 ? bytes : -(int64_t)bytes;
		const struct stride_counts counts = walk(these, step, 20000, bytes);
		cr_assert_gt(counts.unit,
			     20000ull * (unsigned)__builtin_popcountll(these) / 64 / 2);
		cr_assert_eq(counts.constant, 0);
		cr_assert_eq(counts.random, 0);
		cr_assert_eq(counts.step, step);
	}
}

/* The same, where a quarter of the lines of a class is seen. */
Test(strides, unit_steps_of_some_lines)
{
	for (int round = 0; round < 60; round++) {
		const uint32_t bytes = 1u << any(7);
		const int64_t step = round % 2 ? bytes : -(int64_t)bytes;
		const uint64_t n = (1u << 20) / bytes;
		begin_of(any_classes(1 + (unsigned)any(4)), 0xc0000000);
		for (uint64_t i = 0; i < n; i++)
			access(1, DATA + (1ull << 32) + (uint64_t)(step * (int64_t)i), bytes);
		const struct stride_counts counts = end(1);
		cr_assert_gt(counts.unit, n / 400, "%u bytes: %lu", bytes,
			     (unsigned long)counts.unit);
		cr_assert_eq(counts.constant, 0);
		cr_assert_eq(counts.random, 0, "%u bytes: %lu", bytes,
			     (unsigned long)counts.random);
		cr_assert_eq(counts.step, step);
	}
}

/* Whatever the distance of the lines of a class that a program goes through, a quarter of them is
 * in the sample. */
Test(strides, lines_of_a_sample)
{
	const struct line_sample sample = {1, 0xc0000000};
	cr_assert_eq(line_sample_one_in(&sample), 4);
	for (uint64_t distance = 64; distance <= 4096; distance += 64) {
		unsigned n = 0;
		for (uint64_t i = 0; i < 4000; i++)
			n += line_sample_has(&sample, 0x1fc000000ull + i * distance);
		cr_expect(n > 800 && n < 1200, "%lu: %u", (unsigned long)distance, n);
	}
}

Test(strides, fields_of_structures)
{
	static const int64_t steps[] = {24, -24, 12, 40, 56, 16, 48};
	for (int round = 0; round < 200; round++) {
		const int64_t step = steps[any(7)];
		const struct stride_counts counts = walk(any_classes(4), step, 20000, 8);
		cr_assert_eq(counts.unit, 0);
		cr_assert_gt(counts.constant, 500);
		cr_assert_eq(counts.random, 0, "step %ld: %lu", (long)step,
			     (unsigned long)counts.random);
		cr_assert_eq(counts.step, step);
	}
}

/* The true step, or a multiple where the classes that are seen cannot tell. */
Test(strides, columns)
{
	for (int round = 0; round < 400; round++) {
		const int64_t step = 8 * (9 + (int64_t)any(5000)) * (round % 2 ? 1 : -1);
		const struct stride_counts counts = walk(any_classes(4), step, 20000, 8);
		const uint64_t all = counts.unit + counts.constant + counts.random;
		if (!all)
			continue; /* none of its lines is in a class that is seen */
		cr_assert_eq(counts.unit, 0);
		cr_assert_eq(counts.random, 0, "step %ld: %lu of %lu", (long)step,
			     (unsigned long)counts.random, (unsigned long)all);
		cr_assert(counts.step && counts.step % step == 0 && counts.step / step > 0,
			  "step %ld: %ld", (long)step, (long)counts.step);
	}
}

/* With two neighbouring classes every odd number of lines is found as it is. */
Test(strides, columns_that_classes_tell_apart)
{
	for (int64_t lines = 1; lines < 200; lines += 2) {
		const uint64_t first = any(CACHE_CLASSES - 1);
		const struct stride_counts counts =
			walk(any_classes(2) | 3ull << first, lines * CACHE_LINE, 20000, 8);
		cr_assert_eq(counts.random, 0);
		cr_assert_eq(counts.step, lines * CACHE_LINE);
	}
	for (int64_t step = 8; step < 100000; step = step * 5 / 4 / 8 * 8 + 8) {
		const struct stride_counts counts = walk(UINT64_MAX, step, 2000, 8);
		cr_assert_eq(counts.step, step);
		cr_assert_eq(counts.unit + counts.constant, 1999);
	}
}

/* One class is told whole; what is told of three others, one access of a line, shows the step. */
Test(strides, other_classes_help)
{
	unsigned right = 0;
	for (int round = 0; round < 200; round++) {
		const uint64_t all = any_classes(4);
		const int64_t step = 64 * (1 + 2 * (int64_t)any(300));
		const struct line_sample one = {all & -all, 0};
		strides = strides_create(&one, &one, 4096);
		for (uint64_t i = 0; i < 20000; i++) {
			const uint64_t address = DATA + (uint64_t)step * i;
			if (all >> address / CACHE_LINE % CACHE_CLASSES & 1)
				strides_note(strides, 1, false, 0, address, 8);
		}
		const struct stride_counts counts = end(1);
		cr_assert_eq(counts.random, 0);
		cr_assert_gt(counts.constant, 200);
		cr_assert_eq(counts.step % step, 0);
		right += counts.step == step;
	}
	cr_assert_gt(right, 120); /* 8 in 9 expected */
}

Test(strides, one_address)
{
	begin(UINT64_MAX);
	for (int i = 0; i < 1000; i++)
		access(3, DATA, 8);
	const struct stride_counts counts = end(3);
	cr_assert_eq(counts.constant, 999);
	cr_assert_eq(counts.unit + counts.random, 0);
	cr_assert_eq(counts.step, 0);
}

/* Of accesses anywhere in many lines nearly all are random: less than 1 in 100 is taken for more.
 */
Test(strides, random_accesses)
{
	for (int round = 0; round < 20; round++) {
		begin(round ? any_classes(4) : UINT64_MAX);
		for (int i = 0; i < 200000; i++)
			access(1, DATA + 8 * any(1 << 20), 8);
		const struct stride_counts counts = end(1);
		cr_assert_gt(counts.random, 5000);
		cr_assert_lt(100 * (counts.unit + counts.constant), counts.random);
	}
}

/* Rows of a tile: each way to the next row is one step that is none. */
Test(strides, rows)
{
	begin(UINT64_MAX);
	for (uint64_t row = 0; row < 100; row++)
		for (uint64_t i = 0; i < 64; i++)
			access(1, DATA + row * 8000 + 8 * i, 8);
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.random, 99);
	cr_assert_eq(counts.unit, 100 * 63);
	cr_assert_eq(counts.step, 8);
}

/* Shares are the same whatever is seen: half of the accesses are in a walk. */
Test(strides, shares_do_not_depend_on_classes)
{
	double sum = 0;
	for (int round = 0; round < 200; round++) {
		begin(any_classes(8));
		for (int part = 0; part < 20; part++) {
			for (uint64_t i = 0; i < 10000; i++)
				access(1, DATA + 8 * i, 8);
			for (uint64_t i = 0; i < 10000; i++)
				access(1, DATA + 8 * any(1 << 20), 8);
		}
		const struct stride_counts counts = end(1);
		sum += (double)counts.unit /
		       (double)(counts.unit + counts.constant + counts.random);
	}
	cr_assert(sum / 200 > 0.47 && sum / 200 < 0.53, "%g", sum / 200);
}

Test(strides, loads_and_stores_are_apart)
{
	begin(UINT64_MAX);
	for (uint64_t i = 0; i < 1000; i++) {
		strides_note(strides, 1, false, 0, DATA + 8 * i, 8);
		strides_note(strides, 1, true, 0, DATA + 0x100000 - 8 * i, 8);
		strides_note(strides, 2, false, 0, DATA + 800 * i, 8);
	}
	const struct stride_counts other = strides_counts(strides, 2);
	cr_assert_eq(other.constant, 999);
	cr_assert_eq(other.step, 800);
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.unit, 2 * 999);
	cr_assert_eq(counts.random, 0);
}

/* What was not told between bursts is no step. */
Test(strides, bursts)
{
	begin(UINT64_MAX);
	for (uint32_t burst = 0; burst < 50; burst++)
		for (uint64_t i = 0; i < 100; i++)
			strides_note(strides, 1, false, burst, DATA + burst * 123456 + 8 * i, 8);
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.unit, 50 * 99);
	cr_assert_eq(counts.random + counts.constant, 0);
}

/* ---- the useful share ---- */

Test(strides, useful_share)
{
	begin(UINT64_MAX);
	for (uint64_t line = 0; line < 100; line++) {
		strides_fetched(strides, line, 1);
		strides_touched(strides, line, line_bytes(0, 8));
		strides_touched(strides, line, line_bytes(4, 8)); /* 12 bytes in all */
	}
	for (uint64_t line = 100; line < 200; line++) {
		strides_fetched(strides, line, 2);
		strides_touched(strides, line, line_bytes(0, 64));
	}
	strides_touched(strides, 1000, line_bytes(0, 64)); /* nobody's */
	strides_fetched(strides, 0, 2);                    /* once more: 1's has left */
	strides_touched(strides, 0, line_bytes(63, 1));
	const struct stride_counts first = strides_counts(strides, 1),
				   second = strides_counts(strides, 2);
	cr_assert_eq(first.fetched, 6400);
	cr_assert_eq(first.used, 1200);
	cr_assert_eq(second.fetched, 6464);
	cr_assert_eq(second.used, 6401);
	strides_destroy(strides);
}

Test(strides, only_some_classes_are_followed)
{
	const struct line_sample all = {UINT64_MAX, 0}, one = {1ull << 5, 0};
	struct strides *some = strides_create(&all, &one, 4096);
	for (uint64_t line = 0; line < 640; line++) {
		strides_fetched(some, line, 1);
		strides_touched(some, line, line_bytes(8, 8));
	}
	cr_assert_eq(strides_counts(some, 1).fetched, 640);
	cr_assert_eq(strides_counts(some, 1).used, 80);
	strides_destroy(some);
	strides_destroy(NULL);
}

/* However many lines come, none is lost from the sums. */
Test(strides, more_lines_than_a_cache_holds)
{
	begin(UINT64_MAX);
	for (uint64_t line = 0; line < 1000000; line++) {
		strides_fetched(strides, line, 5);
		strides_touched(strides, line, line_bytes(16, 16));
	}
	const struct stride_counts counts = end(5);
	cr_assert_eq(counts.fetched, 64000000);
	cr_assert_eq(counts.used, 16000000);
}

static void place(void *context, uint32_t who, uint32_t *module, uint64_t *offset)
{
	*module = 0;
	*offset = who / 2;
}

Test(strides, rows_of_the_profile)
{
	struct profile *profile = profile_create();
	begin(UINT64_MAX);
	for (uint64_t i = 0; i < 1000; i++) {
		strides_note(strides, 4, false, 0, DATA + 8 * i, 8);
		strides_note(strides, 5, false, 0, DATA + 0x100000 + 8 * i, 8);
		strides_note(strides, 6, false, 0, DATA + 100 * i, 8);
	}
	strides_fetched(strides, 1, 4);
	strides_touched(strides, 1, line_bytes(0, 32));
	strides_save(strides, profile, place, NULL);
	strides_destroy(strides);
	cr_assert_eq(profile->n_strides, 2);
	cr_assert_eq(profile->strides[0].offset, 2);
	cr_assert_eq(profile->strides[0].unit, 2 * 999);
	cr_assert_eq(profile->strides[0].step, 8);
	cr_assert_eq(profile->strides[0].fetched, 64);
	cr_assert_eq(profile->strides[0].used, 32);
	cr_assert_eq(profile->strides[1].constant, 999);
	cr_assert_eq(profile->strides[1].step, 100);
	profile_destroy(profile);
}
