/* Times of several timed runs: medians, intervals and how often these hold; and what an interval
 * makes of a bound. */
#include "report/model/model_runs.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"
#include "tests/unit/splitmix.h"

/* ---- runs that are made up ---- */

/* A function of one module, `executions` of two flop and 16 bytes each (the sample's dot). */
static struct profile *profile_of_dot(int64_t executions)
{
	struct profile *p = profile_create();
	const uint32_t module = profile_module(p, "/opt/solver", "");
	const struct sample_kernel *dot = &sample_kernels[2];
	sample_function(p, module, 0x1000, 0x1000 + dot->size, "dot", "", 0);
	sample_block(p, module, 0x1000, dot->code, dot->size,
		     profile_thread(p, RUN_COUNTED, 2, 2, ""), executions);
	sample_roofs(p);
	profile_set_fact(p, "work_source", "counted execution");
	profile_set_fact(p, "time_source", "perf cpu-clock");
	profile_set_fact(p, "clock_ghz", "2.9");
	return p;
}

static void add_samples(struct profile *p, uint64_t offset, uint64_t n)
{
	const uint32_t thread = profile_thread(p, RUN_TIMED, 1, 1, "");
	const uint32_t frame =
		profile_frame(p, PROFILE_NONE, profile_module(p, "/opt/solver", ""), offset);
	for (uint64_t i = 0; i < n; i++) {
		const struct profile_sample sample = {thread, (p->n_samples + 1) * SAMPLE_PERIOD_NS,
						      SAMPLE_PERIOD_NS, frame};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
}

/* Adds timed runs with so many samples of dot, and as many of code elsewhere as says `others`; the
 * samples themselves are those of run `shown`. */
static void add_runs(struct profile *p, const uint64_t *samples, const uint64_t *others, size_t n,
		     size_t shown)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t all = samples[i] + others[i];
		const struct profile_timed_run run = {.shown = i == shown,
						      .wall_s = 1 + i,
						      .samples = all,
						      .time_ns = all * SAMPLE_PERIOD_NS};
		const struct profile_run_time times[] = {
			{i, 0, 0x1001, samples[i], samples[i] * SAMPLE_PERIOD_NS},
			{i, 0, 0x9000, others[i], others[i] * SAMPLE_PERIOD_NS}};
		cr_assert(rf_array_push(p->timed_runs, p->n_timed_runs, p->cap_timed_runs, run));
		for (int k = 0; k < 2; k++)
			cr_assert(rf_array_push(p->run_times, p->n_run_times, p->cap_run_times,
						times[k]));
	}
	add_samples(p, 0x1001, samples[shown]);
	add_samples(p, 0x9000, others[shown]);
}

/* ---- medians ---- */

Test(model_runs, time_is_the_median_over_the_runs)
{
	struct profile *p = profile_of_dot(1000000);
	/* the third run is shown: the median of the sums */
	add_runs(p, (uint64_t[]){100, 500, 300, 200, 900}, (uint64_t[]){5, 3, 4, 8, 250}, 5, 2);
	struct model model = build(p);
	const struct model_function *dot = find(&model, "dot"),
				    *other = find(&model, "[unknown in solver]");
	expect_near((double)dot->time_ns, 300e6, "its median, here that of the run");
	cr_expect_eq(dot->runs.n, 5);
	expect_near(dot->runs.s.least, 0.1, "least");
	expect_near(dot->runs.s.q1, 0.2, "q1");
	expect_near(dot->runs.s.q3, 0.5, "q3");
	expect_near(dot->runs.s.most, 0.9, "most");
	expect_near((double)other->time_ns, 5e6, "54 samples a run in the mean: the median");
	cr_expect_eq(other->n_samples, 4);
	expect_near((double)model.time_ns, 305e6, "rows add up");
	expect_near(model.runs.s.median, 0.304, "of the sums");
	expect_near(model.wall.s.median, 3, "wall");
	for (size_t i = 0; i < p->n_samples; i++)
		cr_assert_eq(model.sample_ns[i],
			     p->samples[i].frame == 0 ? SAMPLE_PERIOD_NS : 1250000u);
	/* s = 316.2 ms over 5 runs: t(4) = 2.776, √(π/10) = 0.5605 */
	cr_expect_float_eq(dot->halfwidth_s, 2.776 * 0.316228 * 0.560499, 1e-5);
	model_deinit(&model);
	profile_destroy(p);
}

/* A median of small counts is biased: they stay as they are in the run that is shown. */
Test(model_runs, few_samples_are_those_of_the_run_that_is_shown)
{
	struct profile *p = profile_of_dot(1000000);
	add_runs(p, (uint64_t[]){100, 100, 100}, (uint64_t[]){0, 9, 30}, 3, 1);
	struct model model = build(p);
	const struct model_function *other = find(&model, "[unknown in solver]");
	expect_near((double)other->time_ns, 9e6, "13 in the mean");
	expect_near(other->runs.s.median, 9e-3, "median");
	cr_expect_float_eq(other->halfwidth_s, 4.303 * 15.394805e-3, 1e-6, "t(2) s of one run");
	model_deinit(&model);
	profile_destroy(p);
}

/* The cost of samples is off in all runs. */
Test(model_runs, cost_is_taken_off)
{
	struct profile *p = profile_of_dot(1000000);
	add_runs(p, (uint64_t[]){100, 200, 300}, (uint64_t[]){0, 0, 0}, 3, 1);
	profile_set_fact(p, "sample_cost_ns", "100000");
	struct model model = build(p);
	const struct model_function *dot = find(&model, "dot");
	expect_near((double)dot->time_ns, 200 * 0.9e6, "time");
	expect_near(dot->runs.s.least, 100 * 0.9e-3, "least");
	expect_near(model.runs.s.most, 300 * 0.9e-3, "most");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_runs, one_run_has_no_spread_between_runs)
{
	struct profile *p = profile_of_dot(1000000);
	add_runs(p, (uint64_t[]){100}, (uint64_t[]){0}, 1, 0);
	struct model model = build(p);
	cr_expect_eq(model.runs.n, 0);
	cr_expect_eq(find(&model, "dot")->runs.n, 0);
	expect_near(find(&model, "dot")->halfwidth_s, 0.0196, "of 100 samples");
	expect_near(model.halfwidth_s, 0.0196, "of all");
	model_deinit(&model);
	profile_destroy(p);
}

/* ---- how often intervals hold ---- */

static double uniform(uint64_t *state)
{
	return (double)(random_number(state) >> 11) * 0x1p-53;
}

/* Normal with mean 0 and variance 1 (Box and Muller 1958). */
static double normal(uint64_t *state)
{
	return sqrt(-2 * log(1 - uniform(state))) * cos(2 * M_PI * uniform(state));
}

/* Of 95 % intervals over runs with `between` of spread each, how many hold the truth, 1 s. */
static double coverage(size_t n, double between, double period_s)
{
	enum { TRIES = 2000 };
	uint64_t state = 1 + n;
	int held = 0;
	for (int i = 0; i < TRIES; i++) {
		struct model_run_time times[16];
		for (size_t k = 0; k < n; k++) {
			const double mean = (1 + between * normal(&state)) / period_s;
			const double samples = fmax(0, round(mean + sqrt(mean) * normal(&state)));
			times[k] = (struct model_run_time){(uint64_t)samples,
							   (uint64_t)(samples * period_s * 1e9)};
		}
		const double median = model_runs_of(times, n).s.median;
		held += fabs(median - 1) <= model_run_halfwidth(times, n, median);
	}
	return (double)held / TRIES;
}

Test(model_runs, intervals_hold)
{
	for (size_t n = 2; n <= 16; n += n < 6 ? 1 : 5) {
		cr_expect_geq(coverage(n, 0.1, 1e-3), 0.94, "%zu runs 10 %% apart", n);
		cr_expect_geq(coverage(n, 0, 1e-2), 0.94, "%zu runs apart by sampling alone", n);
	}
	cr_expect_leq(coverage(16, 0.1, 1e-3), 0.985, "nor are they too wide");
}

/* ---- bounds ---- */

/* dot with so many samples: its roof from DRAM is 14.6 / 8 GFLOP/s, and it makes 2e8 flop. */
static struct model dot_at(double seconds, uint64_t samples, struct profile **p)
{
	*p = profile_of_dot(100000000);
	add_samples(*p, 0x1001, samples);
	for (size_t i = 0; i < (*p)->n_samples; i++)
		(*p)->samples[i].weight_ns = (uint64_t)(seconds * 1e9 / (double)samples);
	return build(*p);
}

#define AT_ROOF (0.2 / (14.6 / 8)) /* seconds */

Test(model_runs, a_bound_that_the_interval_leaves_open_is_no_latency)
{
	static const struct {
		double distance;
		uint64_t samples;
		enum model_bound bound, other;
	} cases[] = {
		{1.5, 1000, BOUND_MEMORY, BOUND_UNKNOWN}, /* ± 6.2 % */
		{1.95, 1000, BOUND_MEMORY, BOUND_LATENCY},
		{2.05, 1000, BOUND_MEMORY, BOUND_LATENCY},
		{2.2, 1000, BOUND_LATENCY, BOUND_UNKNOWN},
		{2.2, 100, BOUND_MEMORY, BOUND_LATENCY}, /* ± 20 % */
		{1.5, 25, BOUND_MEMORY, BOUND_LATENCY},  /* ± 39 % */
		{3.2, 25, BOUND_LATENCY, BOUND_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p;
		struct model model = dot_at(cases[i].distance * AT_ROOF, cases[i].samples, &p);
		const struct model_place *place = &find(&model, "dot")->place;
		cr_assert_float_eq(place->distance, cases[i].distance, 1e-4);
		cr_expect_eq(place->bound, cases[i].bound, "case %zu: %d", i, place->bound);
		cr_expect_eq(place->bound_or, cases[i].other, "case %zu: %d", i, place->bound_or);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* Runs of one program at 2.00×: the sampled distance is on either side, and no two of them name
 * different bounds without a doubt; but for the 5 % of intervals that do not hold. */
Test(model_runs, runs_at_the_threshold_do_not_contradict_each_other)
{
	enum { TRIES = 400 };
	uint64_t state = 3;
	int sure[2] = {0}, near_side = 0;
	for (int i = 0; i < TRIES; i++) {
		struct profile *p;
		const double n = round(400 + 20 * normal(&state));
		struct model model = dot_at(2 * AT_ROOF * n / 400, (uint64_t)n, &p);
		const struct model_place *place = &find(&model, "dot")->place;
		near_side += place->distance > 2;
		if (place->bound_or == BOUND_UNKNOWN)
			sure[place->bound == BOUND_LATENCY]++;
		else
			cr_expect_eq(place->bound, BOUND_MEMORY);
		model_deinit(&model);
		profile_destroy(p);
	}
	cr_expect(near_side > TRIES / 4 && near_side < 3 * TRIES / 4, "%d are above 2", near_side);
	cr_expect_leq(sure[0] + sure[1], TRIES * 7 / 100, "%d and %d were sure", sure[0], sure[1]);
}

/* ---- time without samples ---- */

/* Of a run with 100 samples of a millisecond. */
static double unsampled(double user_s, const char *fact)
{
	struct profile *p = profile_of_dot(1000000);
	const struct profile_timed_run run = {
		.shown = true, .user_s = user_s, .samples = 100, .time_ns = 100000000};
	cr_assert(rf_array_push(p->timed_runs, p->n_timed_runs, p->cap_timed_runs, run));
	if (fact)
		profile_set_fact(p, fact, "1");
	const double missing = model_unsampled_s(p);
	profile_destroy(p);
	return missing;
}

Test(model_runs, time_that_no_sample_stands_for_is_known_beyond_chance)
{
	expect_near(unsampled(0.4, NULL), 0.3, "throttled");
	expect_near(unsampled(0.16, NULL), 0.06, "just beyond");
	cr_expect_eq(unsampled(0.14, NULL), 0); /* 3 times 10 %, and 20 ms */
	cr_expect_eq(unsampled(0.05, NULL), 0); /* a child that nobody waited for */
	cr_expect_eq(unsampled(0.4, "no_children"), 0);
	cr_expect_eq(unsampled(0.4, "once"), 0);
}
