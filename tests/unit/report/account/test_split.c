/* The interval of user and kernel time against programs made by chance, whose truth is known. */
#include "report/account/split.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { ROUNDS = 1500, FINE = 128 };

static uint64_t state = 1;

static double unit(void)
{
	return ((double)(random_number(&state) >> 11) + 0.5) * 0x1p-53;
}

/* Parts of either kind, of lengths that are the same in the mean, s. */
struct kind {
	const char *name;
	double user_s, kernel_s, run_s;
	int threads;
	bool even;    /* all parts of a kind are about as long */
	double least; /* of the intervals hold */
};

/* A thread's parts and its samples, 0.25 ms apart and then 1 ms; returns its kernel time. */
static double run_thread(const struct kind *kind, double run_s, struct split *split,
			 struct split_thread *thread, double *sampled)
{
	double at = 0, kernel_s = 0, period = 250e-6, next = period * unit();
	bool kernel = unit() < kind->kernel_s / (kind->user_s + kind->kernel_s);
	for (int n = 0; at < run_s; kernel = !kernel) {
		const double mean = kernel ? kind->kernel_s : kind->user_s;
		const double end =
			fmin(run_s, at + mean * (kind->even ? 0.5 + unit() : -log(unit())));
		kernel_s += kernel ? end - at : 0;
		for (; next < end; next += period) {
			period = ++n < FINE ? 250e-6 : 1e-3;
			split_add(split, thread, n <= FINE ? 250e-6 : 1e-3, kernel);
			*sampled += kernel ? (n <= FINE ? 250e-6 : 1e-3) : 0;
		}
		at = end;
	}
	return kernel_s;
}

/* Whether the interval has the truth. */
static bool holds(const struct kind *kind, double *width_s)
{
	struct split split = {0};
	double ran_s = 0, kernel_s = 0, sampled = 0;
	for (int t = 0; t < kind->threads; t++) {
		struct split_thread thread = {0};
		const double run_s = kind->run_s * (0.5 + unit());
		kernel_s += run_thread(kind, run_s, &split, &thread, &sampled);
		split_add_ran(&split, &thread, run_s);
		ran_s += run_s;
	}
	const double told = split.weight_s > 0 ? ran_s * sampled / split.weight_s : 0;
	const double half = split_halfwidth(&split, ran_s);
	*width_s += half;
	return fabs(told - kernel_s) <= half;
}

Test(split, holds_the_truth)
{
	static const struct kind kinds[] = {
		{"system calls", 10e-6, 10e-6, 0.4, 1, false, 0.94},
		{"page faults", 4e-6, 36e-6, 0.4, 1, true, 0.94},
		{"faults in threads", 4e-6, 36e-6, 0.1, 4, true, 0.94},
		{"a few calls", 100e-6, 5e-6, 1.0, 1, false, 0.94},
		{"reads of a block", 1e-6, 400e-6, 0.4, 2, true, 0.94},
		{"in step with samples", 700e-6, 300e-6, 0.5, 1, true, 0.85},
		{"some ms", 3e-3, 2e-3, 0.5, 1, false, 0.94},
		{"long parts", 0.1, 0.05, 0.4, 1, false, 0.94},
		{"long parts of threads", 0.1, 0.05, 0.2, 8, false, 0.94},
		{"short", 1e-3, 1e-3, 0.005, 1, false, 0.94},
		{"hardly any kernel", 20e-3, 20e-6, 0.5, 1, false, 0.94},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int n = 0;
		double width_s = 0;
		for (int round = 0; round < ROUNDS; round++)
			n += holds(&kinds[i], &width_s);
		fprintf(stderr, "# %s: %.1f %%, ± %.1f ms of %.0f ms\n", kinds[i].name,
			100.0 * n / ROUNDS, 1e3 * width_s / ROUNDS,
			1e3 * kinds[i].run_s * kinds[i].threads);
		cr_assert(n >= kinds[i].least * ROUNDS, "%s: %d of %d", kinds[i].name, n, ROUNDS);
	}
}

/* It is no wider than it need be: that of independent samples, or of a few parts. */
Test(split, is_not_wide)
{
	struct kind mixed = {"mixed", 10e-6, 10e-6, 0.4, 1, false, 0.94},
		    apart = {"apart", 0.2, 0.2, 0.4, 1, true, 0.94};
	double of_mixed = 0, of_apart = 0;
	for (int round = 0; round < ROUNDS; round++) {
		(void)holds(&mixed, &of_mixed);
		(void)holds(&apart, &of_apart);
	}
	cr_assert(of_mixed / ROUNDS < 2.1 * 1.1e-3 * sqrt(0.4 / 1e-3) / 2);
	cr_assert(of_apart / ROUNDS < 4e-3);
}
