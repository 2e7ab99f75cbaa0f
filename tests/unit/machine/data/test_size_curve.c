#include "machine/data/size_curve.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define N 32
#define L1 (48.0 * 1024)
#define L2 (1024.0 * 1024)
#define REPORTED (UINT64_C(32) << 20)

/* A machine that is made up: what a thread really has of the last cache, how lines are replaced,
 * and how much slower walks get than they need to be. */
struct truth {
	double last; /* bytes */
	bool random; /* replacement at random; else least recently used */
	double noise;
	bool reads_too; /* reads have no more of the cache than chases */
};

static double uniform(void)
{
	return rand() / (RAND_MAX + 1.0);
}

/* The part of a walk through `bytes` that a cache holds. */
static double held(double cache, double bytes, bool random)
{
	if (bytes <= cache)
		return 1;
	return random ? cache / bytes : 0;
}

/* Time of a walk, as the mean over where its lines are. */
static double walk(const struct truth *truth, double last, double bytes, const double time[4])
{
	const double caches[] = {L1, L2, last};
	double sum = 0, before = 0;
	for (int i = 0; i < 3; i++) {
		const double now = fmax(before, held(caches[i], bytes, truth->random));
		sum += (now - before) * time[i];
		before = now;
	}
	return sum + (1 - before) * time[3];
}

/* Load makes some walks slower; now and then much slower, for a few sizes on end. */
static double noise(const struct truth *truth, double *spell)
{
	*spell = uniform() < 0.1 * truth->noise ? 1 + 2 * uniform() : fmax(1, *spell * 0.8);
	return *spell * (1 + truth->noise * uniform() * uniform());
}

static struct machine make(const struct truth *truth, struct size_point points[N])
{
	static const double latency[] = {1.2, 4, 14, 110}, read[] = {240, 120, 70, 32};
	double inverse[4], spell = 1;
	for (int i = 0; i < 4; i++)
		inverse[i] = 1 / read[i];
	for (int i = 0; i < N; i++) {
		const double bytes = 12288 * pow(4.0 * REPORTED / 12288, i / (N - 1.0));
		const double reads_last = truth->reads_too ? truth->last : (double)REPORTED;
		const double slow = noise(truth, &spell), more = 1 + truth->noise * uniform();
		points[i].bytes = (uint64_t)bytes;
		points[i].latency_ns = slow * walk(truth, truth->last, bytes, latency);
		points[i].latency_median_ns = more * points[i].latency_ns;
		points[i].read_gbs = 1 / (slow * walk(truth, reads_last, bytes, inverse));
		points[i].read_median_gbs = points[i].read_gbs / more;
	}
	return (struct machine){.caches = {{1, 48 << 10, 64, 12, 1},
					   {2, 1 << 20, 64, 16, 1},
					   {3, REPORTED, 64, 16, 2}},
				.n_caches = 3,
				.sizes = points,
				.n_sizes = N};
}

Test(size_curve, knees_are_where_the_caches_end)
{
	const double ends[] = {L1, L2, 32.0 * 1048576};
	struct size_point points[N];
	const struct truth truth = {ends[2], false, 0, true};
	const struct machine machine = make(&truth, points);
	struct size_knee knees[SIZE_KNEES];
	cr_assert_eq(size_knees(machine.sizes, N, knees), 3);
	for (int i = 0; i < 3; i++) {
		cr_assert_leq(points[knees[i].before].bytes, ends[i]);
		cr_assert_gt(points[knees[i].behind].bytes, ends[i]);
		cr_assert_eq(knees[i].behind - knees[i].before, 1);
	}
}

/* Whatever load there is, a thread that has all of the cache is never said to have less. */
Test(size_curve, noise_makes_no_small_cache)
{
	struct size_point points[N];
	srand(1);
	for (int i = 0; i < 20000; i++) {
		const struct truth truth = {REPORTED, i % 2, uniform(), true};
		const struct machine machine = make(&truth, points);
		const struct size_verdict verdict = size_verdict(&machine);
		cr_assert_eq(verdict.effective, REPORTED, "curve %d, noise %.2f: %llu", i,
			     truth.noise, (unsigned long long)verdict.effective);
	}
}

/* A thread that has a quarter or less: how much, to a factor of two where the least recently used
 * line goes; that it is less, where lines go at random, which hides where the cache ends.  Never is
 * it said to have less than half of what it has. */
Test(size_curve, a_small_share_is_found)
{
	struct size_point points[N];
	int found[2] = {0};
	srand(2);
	for (int i = 0; i < 20000; i++) {
		const double share = pow(2, -2 - 2 * uniform());
		const struct truth truth = {share * REPORTED, i % 2, 0.3 * uniform(), true};
		const struct machine machine = make(&truth, points);
		const struct size_verdict verdict = size_verdict(&machine);
		cr_assert_geq(verdict.effective, truth.last / 2.01, "curve %d", i);
		cr_assert(verdict.clear || verdict.effective == REPORTED);
		found[i % 2] += verdict.clear && verdict.effective < REPORTED &&
				(truth.random || verdict.effective <= 2.01 * truth.last);
	}
	cr_expect_gt(found[0], 9500, "%d of 10000", found[0]);
	cr_expect_gt(found[1], 8500, "%d of 10000", found[1]);
}

/* Chases that look like memory while reads do not: a cache that others use too, of which one has
 * the more the faster one uses it; or misses of a TLB. */
Test(size_curve, walks_that_disagree_are_not_clear)
{
	struct size_point points[N];
	const struct truth truth = {REPORTED / 8.0, true, 0, false};
	const struct machine machine = make(&truth, points);
	const struct size_verdict verdict = size_verdict(&machine);
	cr_assert_not(verdict.clear);
	cr_assert_eq(verdict.effective, REPORTED);
	cr_assert_lt(verdict.chase_end, verdict.read_end);
}

Test(size_curve, too_little_memory_tells_nothing)
{
	struct size_point points[N];
	const struct truth truth = {REPORTED / 8.0, false, 0, true};
	struct machine machine = make(&truth, points);
	machine.n_sizes = N - 6; /* not twice the reported size */
	cr_assert_eq(size_verdict(&machine).effective, REPORTED);
	cr_assert_not(size_verdict(&machine).clear);
	machine.n_sizes = 0;
	cr_assert_eq(size_verdict(&machine).reported, 0);
	machine.n_sizes = N;
	machine.n_caches = 0;
	cr_assert_eq(size_verdict(&machine).effective, 0);
}

/* The level above is a limit: a last level smaller than it would be no hierarchy. */
Test(size_curve, not_below_the_level_above)
{
	struct size_point points[N];
	const struct truth truth = {L2, false, 0, true};
	const struct machine machine = make(&truth, points);
	const struct size_verdict verdict = size_verdict(&machine);
	cr_assert(verdict.clear);
	cr_assert_gt(verdict.effective, L2);
	cr_assert_lt(verdict.effective, REPORTED);
}
