/* Sums of kernels: of counted work by the rows of --by=kernel, of time by stacks. */
#include "report/rows/kernel_sums.h"

#include "base/array.h"
#include "report/model/model_samples.h"
#include "report/rows/grouping.h"
#include "report/rows/kernel_samples.h"

#include <math.h>
#include <stdlib.h>

static double sure(double bytes)
{
	return bytes > 0 && isfinite(bytes) ? bytes : 0;
}

static void take_row(const struct model_function *row, bool traced, struct profile_kernel_sum *sum)
{
	const struct model_traffic *traffic = row->traffic;
	sum->flop = row->tally.flop;
	sum->load_bytes = row->tally.load_bytes;
	sum->store_bytes = row->tally.store_bytes;
	sum->instructions = row->tally.instructions;
	sum->running_ns = row->time_ns;
	sum->samples = row->n_samples;
	sum->traced = traced;
	if (!traced || !traffic)
		return;
	const struct model_estimate *read = &traffic->bytes.mem[DIRECTION_READ],
				    *written = &traffic->bytes.mem[DIRECTION_WRITE];
	sum->mem_read = sure(read->bytes);
	sum->mem_read_halfwidth = sure(read->halfwidth);
	sum->mem_write = sure(written->bytes);
	sum->mem_write_halfwidth = sure(written->halfwidth);
}

static void take_rows(const struct profile *profile, const struct model *model,
		      const struct model_groups *groups, struct profile_kernel_sum *sums)
{
	for (size_t i = 0; i < model->n_functions; i++)
		for (size_t k = 0; k < profile->n_kernels; k++)
			if (model->functions[i].row == groups->by_owner[k + 1] &&
			    !model->functions[i].uncounted_part)
				take_row(&model->functions[i], model->traced, &sums[k]);
}

/* ---- the time of calls ---- */

/* [kernel * n_threads + thread]: a thread of the timed run whose twin called it, or that was seen
 * in it; NULL: no memory. */
static bool *find_callers(const struct profile *profile, const uint32_t *twins,
			  const uint32_t *frames)
{
	bool *calls = calloc(profile->n_kernels * profile->n_threads + 1, sizeof(*calls));
	for (size_t i = 0; calls && i < profile->n_kernel_callers; i++) {
		const struct profile_kernel_caller *caller = &profile->kernel_callers[i];
		const uint32_t twin = twins[caller->thread];
		if (twin != PROFILE_NONE)
			calls[caller->kernel * profile->n_threads + twin] = true;
	}
	for (size_t i = 0; calls && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint32_t kernel = sample->frame == PROFILE_NONE ? 0 : frames[sample->frame];
		if (kernel)
			calls[(kernel - 1) * profile->n_threads + sample->thread] = true;
	}
	return calls;
}

/* What the threads that call a kernel did by the clock, in their lives. */
struct callers {
	double ran_s, ready_s;
	double losses; /* of a processor that others wanted */
	/* What they waited for one behind losses within calls, and the variance of that. */
	double preempted_s, preempted_variance;
	double hits_share; /* of what they ran: what breakpoints took */
};

/* Samples by threads of the timed run. */
struct sampled {
	double *all_s, *in_s; /* [thread]; in calls of kernels: [kernel * n_threads + thread] */
	double *n;            /* [thread] */
};

static void sampled_deinit(struct sampled *sampled)
{
	free(sampled->all_s);
	free(sampled->in_s);
	free(sampled->n);
}

/* `of_sample`: kernels, plus 1; 0: none.  False: no memory. */
static bool sampled_init(struct sampled *sampled, const struct profile *profile,
			 const struct model *plain, const uint32_t *of_sample)
{
	const size_t n = profile->n_threads;
	*sampled = (struct sampled){.all_s = calloc(n + 1, sizeof(double)),
				    .in_s = calloc(profile->n_kernels * n + 1, sizeof(double)),
				    .n = calloc(n + 1, sizeof(double))};
	if (!sampled->all_s || !sampled->in_s || !sampled->n)
		return false;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const uint32_t thread = profile->samples[i].thread;
		const double s = (double)plain->sample_ns[i] * 1e-9;
		sampled->all_s[thread] += s;
		sampled->n[thread]++;
		if (of_sample[i])
			sampled->in_s[(of_sample[i] - 1) * n + thread] += s;
	}
	return true;
}

/* Losses of a processor meet a thread wherever it runs, so what they cost a kernel's calls is a
 * share of all: that of the thread's running time, by its samples.  The share is as sure as the
 * number of these allows; and of so many losses, each with that chance, whose lengths are spread as
 * an exponential distribution (mean square: twice the square of the mean), the sum is off by
 * chance. */
static void add_preempted(const struct profile_thread_time *time, double in_s, double all_s,
			  double n_samples, struct callers *callers)
{
	const double preempted_s = (double)time->preempted_ns * 1e-9;
	if (!time->preempted_ns || !time->involuntary || all_s <= 0)
		return;
	const double share = in_s / all_s, spread = share * (1 - share);
	callers->preempted_s += share * preempted_s;
	callers->preempted_variance += (2 / (double)time->involuntary + 1 / n_samples) * spread *
				       preempted_s * preempted_s;
}

/* What a breakpoint takes far from the caches and near to them differs so much from the middle,
 * which is known as what two of them put between a call's ends: one half of each. */
#define HITS_OFF 0.5

static void find_hits_shares(const struct profile *profile, struct callers *callers)
{
	const double s = 1e-9 * profile_number_fact(profile, "breakpoint_hits", 0) *
			 profile_number_fact(profile, "call_times_cost_ns", 0);
	for (size_t k = 0; k < profile->n_kernels; k++)
		callers[k].hits_share = callers[k].ran_s > 0 ? fmin(s / callers[k].ran_s, 1) : 0;
}

static void add_callers(const struct profile *profile, const bool *calls,
			const struct sampled *sampled, struct callers *callers)
{
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		const struct profile_thread_time *time = &profile->thread_times[i];
		for (size_t k = 0; k < profile->n_kernels; k++) {
			const size_t at = k * profile->n_threads + time->thread;
			if (!calls[at])
				continue;
			add_preempted(time, sampled->in_s[at], sampled->all_s[time->thread],
				      sampled->n[time->thread], &callers[k]);
			callers[k].ran_s += (double)time->ran_ns * 1e-9;
			callers[k].ready_s += (double)time->ready_ns * 1e-9;
			callers[k].losses += (double)time->involuntary;
		}
	}
	find_hits_shares(profile, callers);
}

/* What threads that call kernels ran in them, waited, and were ready to run: which is in no sample.
 */
static bool add_times(const struct profile *profile, const struct model *plain,
		      const uint32_t *of_sample, struct profile_kernel_sum *sums,
		      struct callers *callers)
{
	uint32_t *frames = kernel_frames(profile);
	bool *calls = frames ? find_callers(profile, plain->twin_of_thread, frames) : NULL;
	double *squares = calloc(profile->n_kernels + 1, sizeof(*squares));
	struct sampled sampled = {0};
	const bool ok = sampled_init(&sampled, profile, plain, of_sample) && calls && squares;
	for (size_t i = 0; ok && i < profile->n_samples; i++) {
		const uint32_t thread = profile->samples[i].thread, kernel = of_sample[i];
		const double s = (double)plain->sample_ns[i] * 1e-9;
		if (!kernel || !calls[(kernel - 1) * profile->n_threads + thread])
			continue;
		sums[kernel - 1].calls_ns += plain->sample_ns[i];
		squares[kernel - 1] += s * s;
	}
	if (ok)
		add_callers(profile, calls, &sampled, callers);
	/* as of a function's time (model_samples.h): the sum of samples of a Poisson process */
	for (size_t k = 0; ok && k < profile->n_kernels; k++) {
		const double s = (double)sums[k].calls_ns * 1e-9 + callers[k].preempted_s;
		sums[k].calls_ns = (uint64_t)llround(s * (1 - callers[k].hits_share) * 1e9);
		sums[k].halfwidth_s = 1.96 * sqrt(squares[k] + callers[k].preempted_variance) +
				      HITS_OFF * callers[k].hits_share * s;
	}
	for (size_t i = 0; ok && i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		const uint32_t kernel = wait->frame == PROFILE_NONE ? 0 : frames[wait->frame];
		if (kernel)
			sums[kernel - 1].calls_ns += wait->time_ns;
	}
	sampled_deinit(&sampled);
	free(frames);
	free(calls);
	free(squares);
	return ok;
}

/* ---- calls that were timed one by one ---- */

/* Times of calls that are shorter than so many of these costs are not told. */
#define SHORTEST_CALL 10
/* Where not all calls were timed, so few of them say little. */
#define FEWEST_CALLS 30

bool kernel_calls_known(const struct profile *profile)
{
	return profile_get_fact(profile, "attached") == NULL;
}

const struct profile_kernel_time *kernel_time_of(const struct profile *profile, uint32_t kernel)
{
	for (size_t i = 0; i < profile->n_kernel_times; i++) {
		const struct profile_kernel_time *time = &profile->kernel_times[i];
		if (time->kernel == kernel)
			return time->mean_s - time->ready_s >= SHORTEST_CALL * time->cost_s &&
					       (time->whole || time->calls >= FEWEST_CALLS)
				       ? time
				       : NULL;
	}
	return NULL;
}

#define LEAST_LOSSES 0.025

/* Where not all calls were timed, so wide an interval says little. */
#define WIDEST 0.5
/* Calls that were not looked out for at all, in programs that processes execute later or in
 * libraries that are loaded later, may be others than those that were: so large a share of all must
 * be known. In windows breakpoints make calls last longer, so that fewer of them begin. */
#define LEAST_KNOWN 0.95
#define LEAST_KNOWN_IN_WINDOWS 0.5

/* Calls that began before they could be seen, in libraries that were opened while the program ran:
 * they took something between unseen_least_s and unseen_s.  Where all others were counted their
 * number is known. */
struct unseen_calls {
	double n, s, most_off; /* s: what they are taken to have taken */
};

/* Calls from elsewhere than the first one's place have no limits. */
static bool has_others(const struct profile_kernel_time *time, double n)
{
	return time->one_place && n - time->stands_for > 1.5;
}

static struct unseen_calls unseen_of(const struct profile_kernel_time *time, double n)
{
	const double missing = n - time->stands_for;
	if (!time->whole)
		return (struct unseen_calls){.most_off = time->unseen_s};
	if (missing < 0.5 || time->unseen_s <= 0)
		return (struct unseen_calls){0};
	const double least = time->unseen_least_s, most = time->unseen_s;
	const double s = fmin(fmax(missing * time->mean_s, least), most);
	return (struct unseen_calls){missing, s, fmax(s - least, most - s)};
}

struct mean {
	double s, halfwidth_s; /* by the scatter of calls */
	double off_s;          /* how far off it may be besides */
};

/* A thread may lose its processor while a breakpoint is dealt with, as at any time: what it waits
 * for the next one then lies between the two records of a call, and is none of the call's own
 * time. Losses are a Poisson process of the time that threads run, and how long each lasts is
 * spread as an exponential distribution. */
static struct mean mean_of_all(const struct profile_kernel_time *time,
			       const struct callers *callers)
{
	const double n = (double)time->calls;
	struct mean mean = {time->mean_s, time->halfwidth_s, 0};
	if (callers->losses < 1 || callers->ran_s <= 0 || n < 1)
		return mean;
	const double rate = callers->losses / callers->ran_s,
		     each_s = callers->ready_s / callers->losses;
	const double expected = n * time->cost_s * rate;
	/* below that there is none in more than 95 % of all runs */
	const double spread = expected < LEAST_LOSSES ? 0 : 2.5 * sqrt(2 * expected);
	mean.s -= expected * each_s / n;
	mean.off_s = spread * each_s / n + time->cost_spread_s * rate * each_s;
	return mean;
}

/* In windows few calls lose their processor, and for long; and fewer than elsewhere: the thread
 * that turns breakpoints on has one itself at that moment, behind which the kernel gives others
 * theirs anew.  So what threads were ready to run is not taken from these calls, but from the whole
 * run, less those losses that meet a thread at a breakpoint. */
static struct mean mean_in_windows(const struct profile_kernel_time *time,
				   const struct callers *callers, double n)
{
	const double share = callers->hits_share;
	return (struct mean){
		.s = time->mean_s - time->ready_s + callers->preempted_s * (1 - share) / n,
		.halfwidth_s = time->rest_halfwidth_s,
		.off_s = (1.96 * sqrt(callers->preempted_variance) +
			  HITS_OFF * share * callers->preempted_s) /
			 n,
	};
}

#define LONG_CALL_S 10e-3
#define MOST_COSTS 4

/* What timing puts between the ends of a call was measured on short ones.  Behind a long one the
 * kernel's code and data for it have left the caches, and other processors are idle: calls of 4 ms
 * were told up to 18 us too long, of 80 ms up to 8 by breakpoints and 46 by stops, which is 1 and 3
 * times what was taken off. */
static double off_by_length(const struct profile_kernel_time *time)
{
	return MOST_COSTS * time->cost_s * fmin(1, time->mean_s / LONG_CALL_S);
}

/* The mean of those that were timed times the number of all. */
static void take_calls(const struct profile *profile, const struct callers *callers,
		       struct profile_kernel_sum *sum, uint32_t kernel)
{
	const struct profile_kernel_time *time = kernel_time_of(profile, kernel);
	const double n = (double)profile->kernels[kernel].calls;
	if (!time || n < 1 || has_others(time, n) ||
	    time->stands_for < n * (time->whole ? LEAST_KNOWN : LEAST_KNOWN_IN_WINDOWS))
		return;
	const double others = fmax(1 - (double)time->calls / n, 0); /* share that was not timed */
	const struct unseen_calls unseen = unseen_of(time, n);
	const struct mean mean =
		time->whole ? mean_of_all(time, callers) : mean_in_windows(time, callers, n);
	const double halfwidth = mean.halfwidth_s * sqrt(others) + mean.off_s +
				 time->cost_spread_s + off_by_length(time) + unseen.most_off / n;
	const bool are_few = !time->whole && time->calls < FEWEST_CALLS;
	if (others > 0 && (are_few || halfwidth > WIDEST * mean.s))
		return;
	sum->calls_ns = (uint64_t)llround(((n - unseen.n) * mean.s + unseen.s) * 1e9);
	sum->halfwidth_s = n * halfwidth;
	sum->by_call = true;
}

static struct rf_error *fill(const struct profile *profile, struct profile_kernel_sum *sums,
			     struct callers *callers)
{
	struct model plain = {0}, model = {0};
	struct model_groups groups = {0};
	const struct report_options options = {.by = BY_KERNEL};
	const struct report_view view = {.profile = profile, .model = &plain, .options = &options};
	const struct model_choice choice = {.groups = &groups};
	struct rf_error *error = model_build(profile, &plain) ?: grouping_create(&view, &groups)
							       ?: model_build_as(profile, &choice,
										 &model);
	if (!error)
		take_rows(profile, &model, &groups, sums);
	if (!error && !add_times(profile, &plain, groups.kernel_of_sample, sums, callers))
		error = rf_error_no_memory();
	model_deinit(&model);
	grouping_destroy(&groups);
	model_deinit(&plain);
	return error;
}

struct rf_error *kernel_sums(struct profile *profile)
{
	struct profile_kernel_sum *sums = calloc(profile->n_kernels + 1, sizeof(*sums));
	struct callers *callers = calloc(profile->n_kernels + 1, sizeof(*callers));
	struct rf_error *error = sums && callers ? NULL : rf_error_no_memory();
	if (!error && profile->n_kernels)
		error = fill(profile, sums, callers);
	for (uint32_t k = 0; !error && k < profile->n_kernels; k++) {
		sums[k].kernel = k;
		take_calls(profile, &callers[k], &sums[k], k);
		error = rf_array_add(profile->kernel_sums, profile->n_kernel_sums,
				     profile->cap_kernel_sums, sums[k]);
	}
	free(callers);
	free(sums);
	return error;
}
