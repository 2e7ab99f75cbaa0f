#include "tracer/traffic/strides.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint64_t any(uint64_t below)
{
	static uint64_t state;
	return random_number(&state) % below;
}

#define DATA 0x7f0000001000ull

static struct strides *strides;
static const struct line_sample all_lines = {UINT64_MAX, 0};

static void begin(void)
{
	strides = strides_create(&all_lines, 4096);
}

static void access(uint32_t who, uint64_t address, uint32_t bytes)
{
	strides_note(strides, who, false, 0, address, bytes);
}

static struct stride_counts end(uint32_t who)
{
	const struct stride_counts counts = strides_counts(strides, who);
	strides_destroy(strides);
	return counts;
}

/* A walk with one step is told as it is, to the last access. */
Test(strides, one_step)
{
	for (int round = 0; round < 400; round++) {
		const uint32_t bytes = 1u << any(7);
		const uint64_t n = 2 + any(2000);
		const int64_t sign = round % 2 ? 1 : -1;
		const int64_t step = sign * (round % 3 ? 1 + (int64_t)any(100000) : bytes);
		const bool unit = step == sign * (int64_t)bytes;
		begin();
		for (uint64_t i = 0; i <= n; i++)
			access(1, DATA + (1ull << 32) + (uint64_t)step * i, bytes);
		const struct stride_counts counts = end(1);
		cr_assert_eq(counts.unit, unit ? n : 0);
		cr_assert_eq(counts.constant, unit ? 0 : n);
		cr_assert_eq(counts.random, 0);
		cr_assert_eq(counts.step, step);
	}
}

/* Where a line is seen or not depends on a hash: so many are, whatever the distance of the lines
 * that a program goes through, and whatever the classes. */
Test(strides, lines_of_a_sample)
{
	for (uint32_t bits = 0xc0000000; bits != 0xff800000; bits = bits >> 1 | 1u << 31) {
		const struct line_sample sample = {1ull << 5 | 1ull << 40, bits};
		const double share = 1.0 / line_sample_one_in(&sample);
		for (uint64_t distance = 64; distance <= 4096; distance += 64) {
			unsigned n = 0;
			for (uint64_t i = 0; i < 40000; i++)
				n += line_sample_has(&sample, 0x1fc000005ull + i * distance);
			cr_expect(n > 0.75 * share * 40000 && n < 1.25 * share * 40000,
				  "%lu: %u of 1 in %u", (unsigned long)distance, n,
				  line_sample_one_in(&sample));
		}
	}
}

Test(strides, one_address)
{
	begin();
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
	begin();
	for (int i = 0; i < 200000; i++)
		access(1, DATA + 8 * any(1 << 20), 8);
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.random + counts.unit + counts.constant, 199999);
	cr_assert_lt(1000 * (counts.unit + counts.constant), counts.random);
}

/* Rows of a tile: each way to the next row is one step that is none. */
Test(strides, rows)
{
	begin();
	for (uint64_t row = 0; row < 100; row++)
		for (uint64_t i = 0; i < 64; i++)
			access(1, DATA + row * 8000 + 8 * i, 8);
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.random, 99);
	cr_assert_eq(counts.unit, 100 * 63);
	cr_assert_eq(counts.step, 8);
}

/* Half of the accesses are in a walk. */
Test(strides, shares)
{
	begin();
	for (int part = 0; part < 20; part++) {
		for (uint64_t i = 0; i < 10000; i++)
			access(1, DATA + 8 * i, 8);
		for (uint64_t i = 0; i < 10000; i++)
			access(1, DATA + 8 * any(1 << 20), 8);
	}
	const struct stride_counts counts = end(1);
	cr_assert_eq(counts.unit, 20 * 9999);
	cr_assert_lt(counts.constant, 100);
}

Test(strides, loads_and_stores_are_apart)
{
	begin();
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
	begin();
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
	begin();
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
	const struct line_sample one = {1ull << 5, 0};
	struct strides *some = strides_create(&one, 4096);
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
	begin();
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
	uint64_t crossed = 0;
	begin();
	for (uint64_t i = 0; i < 1000; i++) {
		crossed += (DATA + 100 * i) / 64 != (DATA + 100 * i + 7) / 64;
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
	cr_assert_eq(profile->n_crossings, 1);
	cr_assert_eq(profile->crossings[0].offset, 3);
	cr_assert_eq(profile->crossings[0].looked, 1000);
	cr_assert(crossed > 0 && profile->crossings[0].crossed == crossed);
	profile_destroy(profile);
}

static void random_walks(struct strides *both[2], uint32_t who, uint64_t n)
{
	uint64_t address = DATA + any(1 << 20);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t step = any(4) ? 8 : any(4096);
		const bool store = any(2);
		const uint32_t burst = (uint32_t)(i / 50);
		address += step;
		for (int k = 0; k < 2; k++)
			strides_note(both[k], who, store, burst, address, 8);
	}
}

/* What was found stays when threads end, and others take their places: against walks that are all
 * kept. */
Test(strides, ended_threads)
{
	for (int round = 0; round < 50; round++) {
		struct strides *both[2] = {strides_create(&all_lines, 4096),
					   strides_create(&all_lines, 4096)};
		for (uint32_t who = 0; who < 60; who++) {
			random_walks(both, who, any(500));
			if (any(2))
				strides_end(both[1], (uint32_t)any(who + 1));
			strides_end(both[1], who);
		}
		for (uint32_t who = 0; who < 62; who++) {
			const struct stride_counts all = strides_counts(both[0], who),
						   kept = strides_counts(both[1], who);
			cr_assert_eq(all.unit, kept.unit);
			cr_assert_eq(all.constant, kept.constant);
			cr_assert_eq(all.random, kept.random);
			cr_assert_eq(all.step, kept.step);
		}
		strides_destroy(both[0]);
		strides_destroy(both[1]);
	}
}
