/* What is told of timed calls, against plain sums. */
#include "tests/unit/splitmix.h"
#include "tracer/calls/call_sums.h"

#include <criterion/criterion.h>
#include <math.h>

#define COST_NS 10000.0

enum { WINDOWS = 40, MOST_CALLS = 4000, KERNELS = 2 };

struct random_calls {
	struct timed_call calls[MOST_CALLS];
	struct window_calls started[WINDOWS];
	struct call_window windows[WINDOWS];
	uint32_t kernels[KERNELS];
	size_t n;
};

/* Windows of 1 to 4 ms, one in a cycle of 100 ms; one of ten is spoilt. */
static void make(struct random_calls *made, uint64_t *state)
{
	*made = (struct random_calls){.kernels = {7, 3}};
	for (uint32_t w = 0; w < WINDOWS; w++) {
		const uint64_t begin = w * UINT64_C(100000000);
		made->windows[w] =
			(struct call_window){.begin = begin,
					     .end = begin + 1000000 +
						    random_number(state) % 3000000,
					     .cycle_ns = 100000000,
					     .is_spoilt = random_number(state) % 10 == 0};
		for (size_t left = random_number(state) % 90; left; left--) {
			const uint32_t kernel = random_number(state) % KERNELS;
			const uint64_t ns = 12000 + random_number(state) % 500000,
				       ready = random_number(state) % 8 ? 0 : ns / 2;
			made->calls[made->n++] = (struct timed_call){
				.ns = ns, .ready_ns = ready, .kernel = kernel, .window = w};
			made->started[w].n[kernel]++;
		}
	}
}

static struct call_sources sources_of(const struct random_calls *made)
{
	return (struct call_sources){.calls = made->calls,
				     .n_calls = made->n,
				     .started = made->started,
				     .windows = made->windows,
				     .n_windows = WINDOWS,
				     .kernels = made->kernels,
				     .n_kernels = KERNELS,
				     .cost_ns = COST_NS};
}

static const struct profile_kernel_time *row_of(const struct profile *profile, uint32_t kernel)
{
	for (size_t i = 0; i < profile->n_kernel_times; i++)
		if (profile->kernel_times[i].kernel == kernel)
			return &profile->kernel_times[i];
	return NULL;
}

static void check_row(const struct random_calls *made, uint32_t kernel,
		      const struct profile_kernel_time *row)
{
	double weights = 0, sum = 0, ready = 0, least = INFINITY, most = 0, below = 0;
	uint64_t n = 0;
	cr_assert_not_null(row);
	for (size_t i = 0; i < made->n; i++) {
		const struct timed_call *call = &made->calls[i];
		const struct call_window *window = &made->windows[call->window];
		if (call->kernel != kernel || window->is_spoilt)
			continue;
		const double weight = 1e8 / (double)(window->end - window->begin);
		const double s = ((double)call->ns - COST_NS) * 1e-9;
		n++;
		weights += weight;
		sum += weight * s;
		ready += weight * fmin((double)call->ready_ns * 1e-9, s);
		below += s < row->median_s ? weight : 0;
		least = fmin(least, s);
		most = fmax(most, s);
	}
	cr_assert(row->calls == n && row->started == n && !row->whole);
	cr_assert_float_eq(row->mean_s, sum / weights, 1e-12);
	cr_assert_float_eq(row->ready_s, ready / weights, 1e-12);
	cr_assert(row->rest_halfwidth_s > 0 && row->rest_halfwidth_s < 0.2 * row->mean_s);
	cr_assert_float_eq(row->stands_for, weights, 1e-6 * weights);
	cr_assert(row->least_s == least && row->most_s == most && below < 0.5 * weights);
	cr_assert(row->halfwidth_s > 0 && row->halfwidth_s < 0.2 * row->mean_s);
}

Test(call_sums, weights_are_those_of_windows)
{
	static struct random_calls made;
	uint64_t state = 11;
	for (int round = 0; round < 50; round++) {
		struct profile *profile = profile_create();
		make(&made, &state);
		const struct call_sources sources = sources_of(&made);
		cr_assert_null(call_sums_save(&sources, profile));
		for (uint32_t k = 0; k < KERNELS; k++)
			check_row(&made, k, row_of(profile, made.kernels[k]));
		profile_destroy(profile);
	}
}

/* Where more than 1 % of a kernel's calls had no match it has no row; where calls may lie in
 * others, none has. */
Test(call_sums, not_told)
{
	static struct random_calls made;
	uint64_t state = 12;
	make(&made, &state);
	struct call_sources sources = sources_of(&made);
	struct profile *profile = profile_create();
	for (size_t w = 0; w < WINDOWS; w++)
		made.started[w].n[1] += 2;
	cr_assert_null(call_sums_save(&sources, profile));
	cr_assert(row_of(profile, made.kernels[0]) && !row_of(profile, made.kernels[1]));
	profile_destroy(profile);
	profile = profile_create();
	sources.nested = true;
	cr_assert_null(call_sums_save(&sources, profile));
	cr_assert_eq(profile->n_kernel_times, 0);
	cr_assert_not_null(profile_get_fact(profile, "call_times_why"));
	profile_destroy(profile);
}

/* Calls that were cut stand for as many as others, make the rest's interval wider, and are no
 * reason to tell nothing until they are many. */
Test(call_sums, calls_that_were_cut)
{
	static struct random_calls made;
	uint64_t state = 14;
	double before[2] = {0};
	make(&made, &state);
	for (uint64_t cut = 0; cut < 3; cut++) { /* of a window's 20 or so */
		struct profile *profile = profile_create();
		for (size_t w = 0; w < WINDOWS; w++)
			made.started[w].cut[0] = cut == 2 ? 10 : cut;
		const struct call_sources sources = sources_of(&made);
		cr_assert_null(call_sums_save(&sources, profile));
		const struct profile_kernel_time *row = row_of(profile, made.kernels[0]);
		cr_assert_eq(!row, cut == 2);
		if (row) {
			cr_assert_gt(row->rest_halfwidth_s, before[0]);
			cr_assert_gt(row->stands_for, before[1]);
			before[0] = row->rest_halfwidth_s;
			before[1] = row->stands_for;
		}
		profile_destroy(profile);
	}
}

/* All of the run was looked at where windows have no gaps between them, and none behind the last.
 */
Test(call_sums, the_whole_run)
{
	static struct random_calls made;
	uint64_t state = 13;
	for (int gap = 0; gap < 3; gap++) {
		make(&made, &state);
		for (size_t w = 0; w < WINDOWS; w++)
			made.windows[w] = (struct call_window){.begin = w * 1000,
							       .end = w * 1000 + 1000,
							       .is_whole = true};
		made.windows[WINDOWS / 2].end -= gap == 1;
		struct call_sources sources = sources_of(&made);
		sources.end = WINDOWS * 1000 + (gap == 2);
		struct profile *profile = profile_create();
		cr_assert_null(call_sums_save(&sources, profile));
		for (uint32_t k = 0; k < KERNELS; k++)
			cr_assert_eq(row_of(profile, made.kernels[k])->whole, gap == 0);
		profile_destroy(profile);
	}
}
