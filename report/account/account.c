/* Adds up threads' times. */
#include "report/account/account.h"

#include "profile/kernel_names.h"
#include "report/model/model_place.h"
#include "report/model/model_samples.h"

#include <math.h>
#include <stdlib.h>

static double seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

/* ---- user and kernel ---- */

/* Samples of a thread, by weight. */
struct weights {
	double user, kernel;
};

/* What ran, parted as the samples are; where the kernel was not sampled, what samples do not stand
 * for is the kernel's. */
static void part(double ran_s, const struct weights *weights, bool sees_kernel, double *user_s,
		 double *kernel_s)
{
	const double sampled = weights->user + weights->kernel;
	if (sees_kernel)
		*user_s = sampled > 0 ? ran_s * weights->user / sampled : ran_s;
	else
		*user_s = fmin(weights->user, ran_s);
	*kernel_s = ran_s - *user_s;
}

/* Of the whole program: by its functions, which are there also where single samples are not; each
 * sample with `cost`, what it cost. */
static struct weights program_weights(const struct profile *profile, const struct model *model,
				      uint64_t cost)
{
	struct weights weights = {0, 0};
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		*(model_is_of_kernel(profile, f) ? &weights.kernel : &weights.user) +=
			seconds(f->time_ns + cost * f->n_samples);
	}
	return weights;
}

/* ---- the run ---- */

static void add_threads(const struct profile *profile, struct account *account, double *ran_s)
{
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		const struct profile_thread_time *time = &profile->thread_times[i];
		account->lives_s += seconds(time->ran_ns + time->ready_ns + time->waited_ns);
		*ran_s += seconds(time->ran_ns);
		account->waiting_s += seconds(time->waited_ns);
		account->runnable_s += seconds(time->ready_ns);
	}
	account->n_threads = profile->n_thread_times;
}

/* From the moment when the program was let go to that when its end was seen. */
static void set_clock(const struct profile *profile, struct account *account)
{
	for (size_t i = 0; i < profile->n_concurrency; i++) {
		const struct profile_concurrency *row = &profile->concurrency[i];
		if (row->running > 0)
			account->wall_running_s += seconds(row->time_ns);
		account->wall_runnable_s += seconds(row->ready_ns);
		if (row->running == 0)
			account->wall_waiting_s += seconds(row->time_ns) - seconds(row->ready_ns);
	}
}

static void set_strip(const struct profile *profile, struct account *account)
{
	const double slice_s = profile_number_fact(profile, "slice_ns", 0) * 1e-9;
	const double bin_s = account->wall_s / ACCOUNT_STRIP;
	if (!(slice_s > 0) || !(bin_s > 0))
		return;
	for (size_t i = 0; i < profile->n_slices; i++) {
		const double from = (double)i * slice_s, until = from + slice_s;
		for (int bin = (int)(from / bin_s); bin < ACCOUNT_STRIP && bin * bin_s < until;
		     bin++) {
			const double overlap =
				fmin(until, (bin + 1) * bin_s) - fmax(from, bin * bin_s);
			account->strip[bin] +=
				seconds(profile->slices[i].busy_ns) * overlap / slice_s / bin_s;
		}
	}
	account->has_strip = profile->n_slices > 0;
}

/* Without records of switches: the kernel's account, of the program and the children that it waited
 * for. */
static void take_kernels_account(const struct profile *profile, struct account *account)
{
	const double threads = profile_number_fact(profile, "threads", NAN);
	account->user_s = account->kernel_s = account->waiting_s = account->runnable_s = NAN;
	for (size_t i = 0; i < profile->n_timed_runs; i++)
		if (profile->timed_runs[i].shown) {
			account->user_s = profile->timed_runs[i].user_s;
			account->kernel_s = profile->timed_runs[i].system_s;
		}
	account->wall_running_s = account->wall_runnable_s = account->wall_waiting_s = NAN;
	account->lives_s = account->wall_s;
	if (threads <= 1 && profile->n_processes <= 2)
		account->waiting_s = fmax(0, account->wall_s - account->user_s - account->kernel_s);
}

/* Times of functions have that cost taken off. */
static void set_factors(const struct profile *profile, const struct model *model,
			struct account *account)
{
	const struct weights times = program_weights(profile, model, 0);
	if (times.user > 0)
		account->per_user_time = account->user_s / times.user;
	if (times.kernel > 0)
		account->per_kernel_time = account->kernel_s / times.kernel;
}

struct account account_of(const struct profile *profile, const struct model *model)
{
	struct account account = {
		.wall_s = profile_number_fact(profile, "wall_s", NAN),
		.usable_processors = profile_number_fact(profile, "usable_threads", NAN),
		.known = profile->n_thread_times > 0,
		.split_s = NAN,
		.per_user_time = 1,
		.per_kernel_time = 1,
	};
	double ran_s = 0;
	if (account.known) {
		const struct weights weights =
			program_weights(profile, model, model_sample_cost(profile));
		add_threads(profile, &account, &ran_s);
		account.samples_kernel = !profile_get_fact(profile, "no_kernel_samples");
		part(ran_s, &weights, account.samples_kernel, &account.user_s, &account.kernel_s);
		account.split_s = profile_number_fact(profile, "user_kernel_halfwidth_s", NAN);
		set_factors(profile, model, &account);
		set_clock(profile, &account);
		set_strip(profile, &account);
	} else {
		take_kernels_account(profile, &account);
		ran_s = account.user_s + account.kernel_s;
	}
	account.busy_processors = ran_s / account.wall_s;
	return account;
}

double account_serial_share(const struct profile *profile, const struct account *account,
			    double *most)
{
	double serial_s = 0;
	for (size_t i = 0; i < profile->n_concurrency; i++)
		if (profile->concurrency[i].running == 1)
			serial_s += seconds(profile->concurrency[i].time_ns);
	if (!account || !account->known || account->n_threads < 2 ||
	    !(account->wall_running_s > 0) || !(account->usable_processors > 1) ||
	    account->busy_processors < 1.1)
		return -1;
	const double share = serial_s / account->wall_running_s;
	*most = account->usable_processors / (1 + (account->usable_processors - 1) * share);
	return share;
}

/* ---- functions and threads ---- */

static size_t place_of(const struct profile *profile, uint32_t function, uint32_t module)
{
	if (function != PROFILE_NONE)
		return function;
	return profile->n_functions + (module != PROFILE_NONE ? module : profile->n_modules);
}

double *account_kernel_times(const struct profile *profile)
{
	double *times = calloc(profile->n_functions + profile->n_modules + 1, sizeof(*times));
	for (size_t i = 0; times && i < profile->n_sum_kernel; i++) {
		const struct profile_sum_kernel *row = &profile->sum_kernel[i];
		if (row->call >= PROFILE_GROUPS && row->call < KERNEL_CALLS)
			continue;
		times[place_of(profile, row->function, row->module)] += seconds(row->time_ns);
	}
	return times;
}

double *account_wait_times(const struct profile *profile)
{
	double *times = calloc(profile->n_functions + profile->n_modules + 1, sizeof(*times));
	for (size_t i = 0; times && i < profile->n_sum_waits; i++) {
		const struct profile_sum_wait *row = &profile->sum_waits[i];
		times[place_of(profile, row->function, row->module)] += seconds(row->time_ns);
	}
	return times;
}

double *account_page_faults(const struct profile *profile)
{
	double *faults = calloc(profile->n_functions + profile->n_modules + 1, sizeof(*faults));
	for (size_t i = 0; faults && i < profile->n_sum_faults; i++) {
		const struct profile_sum_fault *row = &profile->sum_faults[i];
		faults[place_of(profile, row->function, row->module)] += (double)row->n;
	}
	return faults;
}

/* Each thread is parted as its own samples are, of which there may be few: what all threads'
 * samples say of the kernel's part is kept.  What there is too much of is taken from all threads in
 * the same proportion, so that none gets more than it ran. */
static void fit_kernel_times(struct account_thread *threads, size_t n, double kernel_s)
{
	double user_sum = 0, kernel_sum = 0;
	for (size_t i = 0; i < n; i++) {
		user_sum += threads[i].user_s;
		kernel_sum += threads[i].kernel_s;
	}
	const double more = kernel_s - kernel_sum, from = more > 0 ? user_sum : kernel_sum;
	for (size_t i = 0; from > 0 && i < n; i++) {
		struct account_thread *thread = &threads[i];
		const double moved = more * (more > 0 ? thread->user_s : thread->kernel_s) / from;
		thread->kernel_s += moved;
		thread->user_s -= moved;
	}
}

static struct account_thread thread_of(const struct profile_thread_time *time,
				       const struct weights *weights, bool sees_kernel)
{
	struct account_thread thread = {
		.thread = time->thread,
		.life_s = seconds(time->ran_ns + time->ready_ns + time->waited_ns),
		.waiting_s = seconds(time->waited_ns),
		.runnable_s = seconds(time->ready_ns),
	};
	part(seconds(time->ran_ns), weights, sees_kernel, &thread.user_s, &thread.kernel_s);
	return thread;
}

struct account_thread *account_threads(const struct profile *profile, const struct account *account)
{
	const size_t n = profile->n_thread_times;
	struct weights *weights = calloc(profile->n_threads + 1, sizeof(*weights));
	struct account_thread *threads = weights ? calloc(n + 1, sizeof(*threads)) : NULL;
	for (size_t i = 0; threads && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct weights *of = &weights[sample->thread];
		*(profile_is_kernel_sample(profile, sample) ? &of->kernel : &of->user) +=
			seconds(sample->weight_ns);
	}
	for (size_t i = 0; threads && i < n; i++)
		threads[i] = thread_of(&profile->thread_times[i],
				       &weights[profile->thread_times[i].thread],
				       account->samples_kernel);
	if (threads)
		fit_kernel_times(threads, n, account->kernel_s);
	free(weights);
	return threads;
}

const char *account_function(const struct profile *profile, uint32_t function, uint32_t module)
{
	if (function != PROFILE_NONE)
		return profile->functions[function].name;
	return module != PROFILE_NONE ? profile->modules[module].name : "[unknown]";
}
