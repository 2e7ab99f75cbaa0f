/* Sums up timed calls. */
#include "tracer/calls/call_sums.h"

#include "base/array.h"
#include "base/search.h"
#include "statistics/ratio.h"
#include "statistics/student.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Calls that were to be timed and had no match are others than those that had one: longer ones,
 * where they were waited for in vain. */
#define LEAST_MATCHED 0.99
/* Calls that were cut (call_pairs.h) are taken to be as the others are; so many of them are not. */
#define MOST_CUT 0.1
/* So few windows say nothing of the spread between them. */
#define FEW_WINDOWS 5
/* Calls of a kernel that the profile has times of. */
#define MOST_KEPT 1000

struct weighted {
	double s, rest_s, weight; /* rest_s: of s, without what others had the processor */
};

/* Of a kernel's calls, by windows: of their times, and of these without what others had the
 * processor. */
struct call_ratios {
	struct ratio all, rest;
	double squares; /* of the latter, with weights */
};

static int compare_times(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;
	return rf_compare(x->s, y->s);
}

static double weight_of(const struct call_window *window)
{
	const double ns = (double)(window->end - window->begin);
	return window->is_whole || ns <= 0 ? 1 : fmax((double)window->cycle_ns / ns, 1);
}

/* The calls of a kernel in windows without gaps, in the order of their ends; NULL: no memory. */
static struct weighted *calls_of(const struct call_sources *sources, uint32_t kernel,
				 struct call_ratios *ratios, size_t *n)
{
	struct weighted *calls = malloc((sources->n_calls + 1) * sizeof(*calls));
	struct weighted *sums = calloc(sources->n_windows + 1, sizeof(*sums));
	*n = 0;
	for (size_t i = 0; calls && sums && i < sources->n_calls; i++) {
		const struct timed_call *call = &sources->calls[i];
		const struct call_window *window = &sources->windows[call->window];
		if (call->kernel != kernel || window->is_spoilt)
			continue;
		const double s = fmax((double)call->ns - sources->cost_ns, 0) * 1e-9;
		const double rest_s = fmax(s - (double)call->ready_ns * 1e-9, 0);
		const double weight = weight_of(window);
		calls[(*n)++] = (struct weighted){s, rest_s, weight};
		ratios->squares += weight * rest_s * rest_s;
		sums[call->window].s += weight * s;
		sums[call->window].rest_s += weight * rest_s;
		sums[call->window].weight += weight;
	}
	for (size_t i = 0; sums && i < sources->n_windows; i++)
		if (!sources->windows[i].is_spoilt) {
			ratio_add(&ratios->all, sums[i].s, sums[i].weight);
			ratio_add(&ratios->rest, sums[i].rest_s, sums[i].weight);
		}
	const bool ok = calls && sums;
	free(sums);
	if (ok)
		return calls;
	free(calls);
	return NULL;
}

/* The least time that at least such a share of all calls does not exceed; sorted. */
static double quantile(const struct weighted *calls, size_t n, double share)
{
	double all = 0, sum = 0;
	for (size_t i = 0; i < n; i++)
		all += calls[i].weight;
	for (size_t i = 0; i < n; i++) {
		sum += calls[i].weight;
		if (sum >= share * all)
			return calls[i].s;
	}
	return calls[n - 1].s;
}

/* Of n independent calls of equal weight, by the sum of squared distances from their mean. */
static double halfwidth_of(double squares, size_t n)
{
	return n < 2 ? INFINITY
		     : rf_student((unsigned)(n - 1)) * sqrt(squares / (double)(n - 1) / (double)n);
}

/* Of both means. */
static void find_halfwidths(const struct weighted *calls, size_t n,
			    const struct call_ratios *ratios, double *all, double *rest)
{
	const double mean = ratios->all.y / ratios->all.x,
		     rest_mean = ratios->rest.y / ratios->rest.x;
	double squares = 0, rest_squares = 0;
	*all = ratio_halfwidth(&ratios->all);
	*rest = ratio_halfwidth(&ratios->rest);
	if (ratios->all.n >= FEW_WINDOWS)
		return;
	for (size_t i = 0; i < n; i++) {
		squares += (calls[i].s - mean) * (calls[i].s - mean);
		rest_squares += (calls[i].rest_s - rest_mean) * (calls[i].rest_s - rest_mean);
	}
	*all = halfwidth_of(squares, n);
	*rest = halfwidth_of(rest_squares, n);
}

/* How far off the mean may be for want of calls that were cut.  A call is cut the sooner, the
 * longer it runs: the mean of those is taken to be that of calls by chance, each as likely as it is
 * long. */
static double off_by_cut(const struct call_ratios *ratios, double share)
{
	return share * (ratios->squares / ratios->rest.y - ratios->rest.y / ratios->rest.x);
}

/* So many, or all, at equal distances of weight: each of them stands for as many calls. */
static struct rf_error *keep_calls(const struct weighted *calls, size_t n, uint32_t kernel,
				   struct profile *profile)
{
	struct rf_error *error = NULL;
	const size_t kept = n < MOST_KEPT ? n : MOST_KEPT;
	double all = 0, sum = 0;
	for (size_t i = 0; i < n; i++)
		all += calls[i].weight;
	for (size_t i = 0, k = 0; !error && k < kept; k++) {
		while (i + 1 < n && sum + calls[i].weight <= ((double)k + 0.5) * all / (double)kept)
			sum += calls[i++].weight;
		const struct profile_kernel_call_time row = {kernel,
							     (uint64_t)llround(calls[i].s * 1e9)};
		error = rf_array_add(profile->kernel_call_times, profile->n_kernel_call_times,
				     profile->cap_kernel_call_times, row);
	}
	return error;
}

/* `cut`: the share of calls that were, of these and of those. */
static uint64_t started_of(const struct call_sources *sources, uint32_t kernel, double *stands_for,
			   double *cut)
{
	uint64_t sum = 0;
	double cut_ones = 0;
	*stands_for = 0;
	for (size_t i = 0; i < sources->n_windows; i++)
		if (!sources->windows[i].is_spoilt) {
			const uint64_t n = sources->started[i].n[kernel];
			sum += n;
			*stands_for += weight_of(&sources->windows[i]) * (double)n;
			cut_ones += weight_of(&sources->windows[i]) *
				    (double)sources->started[i].cut[kernel];
		}
	*cut = cut_ones > 0 ? cut_ones / (cut_ones + *stands_for) : 0;
	*stands_for += cut_ones;
	return sum;
}

/* All the time, without a gap, to the end. */
bool call_sums_are_whole(const struct call_sources *sources)
{
	bool whole =
		sources->n_windows && sources->windows[sources->n_windows - 1].end >= sources->end;
	for (size_t i = 0; i < sources->n_windows; i++)
		whole &= sources->windows[i].is_whole && !sources->windows[i].is_spoilt &&
			 (!i || sources->windows[i].begin == sources->windows[i - 1].end);
	return whole;
}

static double of_kernel(const uint64_t *ns, uint32_t kernel)
{
	return ns ? (double)ns[kernel] * 1e-9 : 0;
}

static struct rf_error *add_row(const struct call_sources *sources, uint32_t kernel,
				struct weighted *calls, size_t n, const struct call_ratios *ratios,
				struct profile *profile)
{
	double stands_for, cut, halfwidth, rest_halfwidth;
	const uint64_t started = started_of(sources, kernel, &stands_for, &cut);
	if (!n || (double)n < LEAST_MATCHED * (double)started || cut > MOST_CUT ||
	    (sources->from_one_place >> kernel & 1 && !call_sums_are_whole(sources)))
		return NULL;
	struct rf_error *error = keep_calls(calls, n, sources->kernels[kernel], profile);
	qsort(calls, n, sizeof(*calls), compare_times);
	const double mean = ratios->all.y / ratios->all.x;
	find_halfwidths(calls, n, ratios, &halfwidth, &rest_halfwidth);
	rest_halfwidth += ratios->rest.y > 0 ? off_by_cut(ratios, cut) : 0;
	const struct profile_kernel_time row = {
		.kernel = sources->kernels[kernel],
		.calls = n,
		.started = started,
		.whole = call_sums_are_whole(sources),
		.stands_for = stands_for,
		.mean_s = mean,
		.halfwidth_s = isfinite(halfwidth) ? halfwidth : 0,
		.ready_s = mean - ratios->rest.y / ratios->rest.x,
		.rest_halfwidth_s = isfinite(rest_halfwidth) ? rest_halfwidth : 0,
		.least_s = calls[0].s,
		.q1_s = quantile(calls, n, 0.25),
		.median_s = quantile(calls, n, 0.5),
		.q3_s = quantile(calls, n, 0.75),
		.most_s = calls[n - 1].s,
		.cost_s = sources->cost_ns * 1e-9,
		.cost_spread_s = sources->cost_spread_ns * 1e-9,
		.unseen_least_s = of_kernel(sources->unseen_least_ns, kernel),
		.one_place = sources->from_one_place >> kernel & 1,
		.unseen_s = of_kernel(sources->unseen_ns, kernel),
	};
	return error
		       ?: rf_array_add(profile->kernel_times, profile->n_kernel_times,
				       profile->cap_kernel_times, row);
}

struct rf_error *call_sums_save(const struct call_sources *sources, struct profile *profile)
{
	struct rf_error *error = NULL;
	profile_set_fact(profile, "call_times_cost_ns", "%.0f", sources->cost_ns);
	if (sources->nested && !call_sums_are_whole(sources)) {
		profile_set_fact(profile, "call_times_why",
				 "calls lie within others, and are too short to time all of them");
		return NULL;
	}
	for (uint32_t kernel = 0; !error && kernel < sources->n_kernels; kernel++) {
		struct call_ratios ratios = {0};
		size_t n = 0;
		struct weighted *calls = calls_of(sources, kernel, &ratios, &n);
		error = calls ? add_row(sources, kernel, calls, n, &ratios, profile)
			      : rf_error_no_memory();
		free(calls);
	}
	return error;
}
