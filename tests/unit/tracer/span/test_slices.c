/* Slices of runs made by chance, whose native times are known. */
#include "tests/unit/splitmix.h"
#include "tracer/span/slices.h"

#include "base/array.h"

#include <criterion/criterion.h>

enum { PLACES = 5, SLICES = 60, ROUNDS = 100 };

struct made {
	struct profile *profile;
	struct slices slices;
	struct native_times times;
	int64_t executed[SLICES][PLACES];
	uint32_t first, end;
};

static uint64_t state = 7;

static unsigned any(unsigned n)
{
	return (unsigned)(random_number(&state) % n);
}

/* Each place takes so many ns for each execution, in every slice alike; the span is [first, end).
 */
static void make(struct made *made)
{
	unsigned cost[PLACES];
	made->profile = profile_create();
	made->first = any(SLICES - 1);
	made->end = made->first + 1 + any(SLICES - made->first - 1);
	for (uint32_t k = 0; k < PLACES; k++) {
		const struct profile_block block = {.module = k % 2,
						    .start = 4096 * k + any(200),
						    .size = 1 + any(50)};
		cost[k] = 1 + any(1000);
		cr_assert(rf_array_push(made->profile->blocks, made->profile->n_blocks,
					made->profile->cap_blocks, block));
	}
	for (uint32_t slice = 0; slice < SLICES; slice++) {
		struct slice_rows rows = slices_begin(slice, made->profile);
		const enum span_part part = slice < made->first ? SPAN_BEFORE
					    : slice < made->end ? SPAN_IN
								: SPAN_AFTER;
		for (uint32_t k = 0; k < PLACES; k++) {
			const int64_t n = 1 + any(1000);
			const struct profile_count count = {k, 0, n, n};
			made->executed[slice][k] = n;
			cr_assert(rf_array_push(made->profile->counts, made->profile->n_counts,
						made->profile->cap_counts, count));
			cr_assert(native_times_add(&made->times, made->profile->blocks[k].module,
						   made->profile->blocks[k].start + 1, part,
						   (uint64_t)n * cost[k]));
		}
		const struct profile_units units = {.n = slice};
		cr_assert(rf_array_push(made->profile->units, made->profile->n_units,
					made->profile->cap_units, units));
		cr_assert_null(slices_end(&made->slices, rows, made->profile));
		const struct profile_system_call key = {.number = 1, .caller_module = PROFILE_NONE};
		cr_assert_null(slices_add_call(&made->slices, slice, &key, 1, 2, 1u << any(8)));
	}
}

/* Where places cost the same all the time, the very slices of the span are found. */
Test(slices, the_spans_own_are_found_and_kept)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct made made = {0};
		struct slice_range range;
		int64_t sums[PLACES] = {0}, expected[PLACES] = {0}, checked = 0, all = 0;
		make(&made);
		cr_assert_null(
			slices_choose(&made.slices, made.profile, SLICES, &made.times, &range));
		cr_assert_eq(range.first, made.first);
		cr_assert_eq(range.end, made.end);
		cr_assert(range.first_error_s < 1e-9 && range.end_error_s < 1e-9);
		cr_assert_null(slices_keep(&made.slices, made.profile, &range));
		for (uint32_t slice = 0; slice < SLICES; slice++)
			for (int k = 0; k < PLACES; k++) {
				const bool in = slice >= made.first && slice < made.end;
				expected[k] += in ? made.executed[slice][k] : 0;
				all += made.executed[slice][k];
			}
		for (size_t i = 0; i < made.profile->n_counts; i++) {
			sums[made.profile->counts[i].block] += made.profile->counts[i].n;
			checked += made.profile->counts[i].checked;
		}
		cr_assert_arr_eq(sums, expected, sizeof(sums));
		cr_assert_eq(checked, all);
		cr_assert_eq(made.profile->n_units, made.end - made.first);
		cr_assert_eq(made.profile->units[0].n, made.first);
		cr_assert_eq(made.profile->n_system_calls, 1);
		cr_assert_eq(made.profile->system_calls[0].n, 3ull * (made.end - made.first));
		slices_deinit(&made.slices);
		native_times_deinit(&made.times);
		profile_destroy(made.profile);
	}
}
