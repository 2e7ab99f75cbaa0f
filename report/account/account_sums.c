/* Names system calls that samples do not tell, and sums up samples in the kernel and waits by the
 * functions behind them. */
#include "report/account/account_sums.h"
#include "report/account/mpi_sums.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/function_index.h"
#include "profile/kernel_names.h"
#include "report/account/groups.h"
#include "report/account/own_function.h"
#include "report/account/region_sums.h"
#include "report/account/split.h"
#include "report/account/wait_sums.h"
#include "report/model/model_samples.h"

#include <math.h>
#include <stdlib.h>

struct summing {
	struct profile *profile;
	uint32_t *places; /* of frames */
	uint32_t *own;    /* of frames: place of the function behind it */
};

/* ---- the kernel ---- */

static int compare_kernel(const void *a, const void *b)
{
	const struct profile_sum_kernel *x = a, *y = b;
	return rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module)
	       ?: rf_compare(x->call, y->call);
}

/* What a sample is told as; 0: as its function's own. */
static uint32_t call_of(const struct summing *summing, const struct profile_sample *sample)
{
	const struct profile *profile = summing->profile;
	if (sample->frame == PROFILE_NONE)
		return 0;
	const uint32_t place = summing->places[sample->frame];
	const uint32_t module = profile->frames[sample->frame].module;
	if (profile_is_kernel_sample(profile, sample))
		return (uint32_t)profile->frames[sample->frame].offset;
	if (place >= profile->n_functions || module == PROFILE_NONE)
		return 0;
	const enum account_group group =
		account_group_of(profile->functions[place].name, profile->modules[module].name);
	return group == GROUP_NONE ? 0 : PROFILE_GROUPS + group;
}

static struct rf_error *add_kernel(struct summing *summing)
{
	struct profile *profile = summing->profile;
	const uint64_t cost = model_sample_cost(profile);
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct profile_sum_kernel row = {
			.call = call_of(summing, sample),
			.samples = 1,
			.time_ns = model_sample_weight(sample, cost),
		};
		if (!row.call)
			continue;
		profile_split_place(profile, summing->own[sample->frame], &row.function,
				    &row.module);
		error = rf_array_add(profile->sum_kernel, profile->n_sum_kernel,
				     profile->cap_sum_kernel, row);
	}
	return error;
}

static void merge_kernel(struct profile *profile)
{
	struct profile_sum_kernel *rows = profile->sum_kernel;
	size_t n = 0;
	if (!profile->n_sum_kernel)
		return;
	qsort(rows, profile->n_sum_kernel, sizeof(*rows), compare_kernel);
	for (size_t i = 1; i < profile->n_sum_kernel; i++) {
		if (compare_kernel(&rows[n], &rows[i]) != 0) {
			rows[++n] = rows[i];
			continue;
		}
		rows[n].samples += rows[i].samples;
		rows[n].time_ns += rows[i].time_ns;
	}
	profile->n_sum_kernel = n + 1;
}

/* ---- page faults ---- */

static int compare_faults(const void *a, const void *b)
{
	const struct profile_sum_fault *x = a, *y = b;
	return rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module);
}

static struct rf_error *add_faults(struct summing *summing)
{
	struct profile *profile = summing->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_faults; i++) {
		const struct profile_fault *fault = &profile->faults[i];
		const uint32_t frame = own_frame(profile, summing->places, fault->frame);
		struct profile_sum_fault row = {PROFILE_NONE, PROFILE_NONE, fault->n};
		if (frame != PROFILE_NONE)
			profile_split_place(profile, summing->places[frame], &row.function,
					    &row.module);
		error = rf_array_add(profile->sum_faults, profile->n_sum_faults,
				     profile->cap_sum_faults, row);
	}
	return error;
}

/* Where the kernel was not sampled, page faults are its time as long as one takes here, together no
 * more than its time in all. */
static struct rf_error *add_fault_times(struct profile *profile)
{
	const double cost = profile_number_fact(profile, "fault_cost_ns", 0);
	double all = 0, kernel = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < profile->n_sum_faults; i++)
		all += cost * (double)profile->sum_faults[i].n;
	for (size_t i = 0; i < profile->n_thread_times; i++)
		kernel += (double)profile->thread_times[i].ran_ns;
	for (size_t i = 0; i < profile->n_samples; i++)
		kernel -= (double)profile->samples[i].weight_ns;
	const double each = all > kernel ? cost * fmax(kernel, 0) / all : cost;
	for (size_t i = 0; !error && i < profile->n_sum_faults && each > 0; i++) {
		const struct profile_sum_fault *fault = &profile->sum_faults[i];
		const struct profile_sum_kernel row = {fault->function, fault->module, KERNEL_FAULT,
						       0, (uint64_t)(each * (double)fault->n)};
		error = rf_array_add(profile->sum_kernel, profile->n_sum_kernel,
				     profile->cap_sum_kernel, row);
	}
	return error;
}

static void merge_faults(struct profile *profile)
{
	struct profile_sum_fault *rows = profile->sum_faults;
	size_t n = 0;
	if (!profile->n_sum_faults)
		return;
	qsort(rows, profile->n_sum_faults, sizeof(*rows), compare_faults);
	for (size_t i = 1; i < profile->n_sum_faults; i++)
		if (compare_faults(&rows[n], &rows[i]) == 0)
			rows[n].n += rows[i].n;
		else
			rows[++n] = rows[i];
	profile->n_sum_faults = n + 1;
}

/* ---- system calls ---- */

/* The number that the instruction before (module, behind) has asked for, where that was always the
 * same; KERNEL_CALL: not known. */
static uint32_t only_call(const struct profile *profile, uint32_t module, uint64_t behind)
{
	uint32_t found = KERNEL_CALL;
	for (size_t i = 0; i < profile->n_system_calls; i++) {
		const struct profile_system_call *call = &profile->system_calls[i];
		if (call->module != module || call->offset + 2 != behind)
			continue;
		if (found != KERNEL_CALL && found != KERNEL_CALLS + call->number)
			return KERNEL_CALL;
		found = KERNEL_CALLS + call->number;
	}
	return found;
}

/* The frame in place of one for a system call that is not known: samples on the way into the kernel
 * and out of it do not tell which.  PROFILE_NONE: no memory. */
static uint32_t known_call(struct profile *profile, uint32_t leaf)
{
	const struct profile_frame *frame = &profile->frames[leaf];
	if (frame->offset != KERNEL_CALL || frame->parent == PROFILE_NONE ||
	    !profile_is_kernel(profile, frame->module))
		return leaf;
	const struct profile_frame *site = &profile->frames[frame->parent];
	const uint32_t call = only_call(profile, site->module, site->offset);
	return call == KERNEL_CALL ? leaf : profile_kernel_frame(profile, frame->parent, call);
}

/* Times of several runs are by the frames as they were. */
static struct rf_error *name_calls(struct profile *profile)
{
	const size_t n = profile->n_frames;
	uint32_t *known = profile->n_run_times ? NULL : malloc((n + 1) * sizeof(*known));
	if (!known)
		return profile->n_run_times ? NULL : rf_error_no_memory();
	bool done = true;
	for (uint32_t i = 0; i < n; i++) {
		known[i] = known_call(profile, i);
		done &= known[i] != PROFILE_NONE;
	}
	for (size_t i = 0; done && i < profile->n_samples; i++)
		if (profile->samples[i].frame != PROFILE_NONE)
			profile->samples[i].frame = known[profile->samples[i].frame];
	for (size_t i = 0; done && i < profile->n_waits; i++)
		if (profile->waits[i].frame != PROFILE_NONE)
			profile->waits[i].frame = known[profile->waits[i].frame];
	for (size_t i = 0; done && i < profile->n_meanwhile; i++) {
		struct profile_meanwhile *row = &profile->meanwhile[i];
		row->wait_frame = known[row->wait_frame];
		row->frame = row->frame == PROFILE_NONE ? PROFILE_NONE : known[row->frame];
	}
	free(known);
	return done ? NULL : rf_error_no_memory();
}

/* A system call instruction, and time of a function behind it. */
struct caller {
	uint32_t module;
	uint64_t behind; /* offset behind the instruction */
	uint32_t own;    /* place */
	uint64_t time_ns;
};

static int compare_callers(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->behind, y->behind)
	       ?: rf_compare(x->own, y->own);
}

struct callers {
	struct caller *items;
	size_t n, cap;
};

/* A leaf frame of the kernel stands below that of the instruction. */
static struct rf_error *add_caller(const struct summing *summing, struct callers *callers,
				   uint32_t leaf, uint64_t time_ns)
{
	const struct profile *profile = summing->profile;
	const uint32_t parent = profile->frames[leaf].parent;
	if (parent == PROFILE_NONE || profile->frames[leaf].offset < KERNEL_CALL)
		return NULL;
	const struct caller fresh = {profile->frames[parent].module, profile->frames[parent].offset,
				     summing->own[leaf], time_ns};
	return rf_array_add(callers->items, callers->n, callers->cap, fresh);
}

static struct rf_error *find_callers(const struct summing *summing, struct callers *callers)
{
	const struct profile *profile = summing->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_samples; i++)
		if (profile_is_kernel_sample(profile, &profile->samples[i]))
			error = add_caller(summing, callers, profile->samples[i].frame,
					   profile->samples[i].weight_ns);
	for (size_t i = 0; !error && i < profile->n_waits; i++)
		if (profile->waits[i].frame != PROFILE_NONE)
			error = add_caller(summing, callers, profile->waits[i].frame,
					   profile->waits[i].time_ns);
	if (!error && callers->n)
		qsort(callers->items, callers->n, sizeof(*callers->items), compare_callers);
	return error;
}

/* The place of the function that most of the time in this instruction's calls is of; where there is
 * none, of the instruction itself. */
static uint32_t main_caller(const struct profile *profile, const struct callers *callers,
			    const struct profile_system_call *call)
{
	const struct caller want = {call->module, call->offset + 2, 0, 0};
	const size_t first =
		rf_search(callers->n, i, compare_callers(&callers->items[i], &want) < 0);
	uint32_t best = (uint32_t)profile_place_at(profile, call->module, call->offset, NULL);
	uint64_t most = 0, sum = 0;
	for (size_t i = first; i < callers->n && callers->items[i].module == call->module &&
			       callers->items[i].behind == want.behind;
	     i++) {
		const bool same = i > first && callers->items[i].own == callers->items[i - 1].own;
		sum = (same ? sum : 0) + callers->items[i].time_ns;
		if (sum > most) {
			most = sum;
			best = callers->items[i].own;
		}
	}
	return best;
}

static int compare_calls(const void *a, const void *b)
{
	const struct profile_sum_call *x = a, *y = b;
	return rf_compare(x->function, y->function) ?: rf_compare(x->module, y->module)
	       ?: rf_compare(x->number, y->number);
}

static void merge_calls(struct profile *profile)
{
	struct profile_sum_call *rows = profile->sum_calls;
	size_t n = 0;
	if (!profile->n_sum_calls)
		return;
	qsort(rows, profile->n_sum_calls, sizeof(*rows), compare_calls);
	for (size_t i = 1; i < profile->n_sum_calls; i++) {
		if (compare_calls(&rows[n], &rows[i]) != 0) {
			rows[++n] = rows[i];
			continue;
		}
		rows[n].n += rows[i].n;
		rows[n].failed += rows[i].failed;
		rows[n].bytes += rows[i].bytes;
	}
	profile->n_sum_calls = n + 1;
}

static struct rf_error *add_calls(struct summing *summing)
{
	struct profile *profile = summing->profile;
	struct callers callers = {0};
	struct rf_error *error = find_callers(summing, &callers);
	for (size_t i = 0; !error && i < profile->n_system_calls; i++) {
		const struct profile_system_call *call = &profile->system_calls[i];
		struct profile_sum_call row = {.number = call->number,
					       .n = call->n,
					       .failed = call->failed,
					       .bytes = call->bytes};
		const uint32_t place =
			call->caller_module == PROFILE_NONE
				? main_caller(profile, &callers, call)
				: (uint32_t)profile_place_at(profile, call->caller_module,
							     call->caller_offset, NULL);
		profile_split_place(profile, place, &row.function, &row.module);
		error = rf_array_add(profile->sum_calls, profile->n_sum_calls,
				     profile->cap_sum_calls, row);
	}
	merge_calls(profile);
	free(callers.items);
	return error;
}

/* Whether somebody else stands behind the code of a frame. */
static bool is_of_system(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	const uint32_t module = profile->frames[frame].module, place = places[frame];
	return profile_is_kernel(profile, module) ||
	       (place < profile->n_functions && module != PROFILE_NONE &&
		account_group_of(profile->functions[place].name, profile->modules[module].name) !=
			GROUP_NONE);
}

/* How sure it is what of the time that threads ran was the kernel's (split.h).  Where the kernel is
 * not sampled there are samples of one kind. */
static struct rf_error *note_split(struct profile *profile)
{
	const bool sees_kernel = !profile_get_fact(profile, "no_kernel_samples");
	double ran_s = 0;
	struct split split = {0};
	struct split_thread *threads = calloc(profile->n_threads + 1, sizeof(*threads));
	if (!threads)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		split_add(&split, &threads[sample->thread], 1e-9 * (double)sample->weight_ns,
			  profile_is_kernel_sample(profile, sample));
	}
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		const struct profile_thread_time *time = &profile->thread_times[i];
		ran_s += 1e-9 * (double)time->ran_ns;
		if (sees_kernel)
			split_add_ran(&split, &threads[time->thread], 1e-9 * (double)time->ran_ns);
	}
	free(threads);
	if (split.weight_s > 0 && profile->n_thread_times)
		profile_set_fact(profile, "user_kernel_halfwidth_s", "%.6f",
				 sees_kernel ? split_halfwidth(&split, ran_s)
					     : split_halfwidth_of_one(&split, ran_s));
	return NULL;
}

struct rf_error *account_summarise(struct profile *profile)
{
	struct rf_error *error = name_calls(profile) ?: note_split(profile);
	if (error)
		return error;
	struct summing summing = {.profile = profile, .places = profile_places_of_frames(profile)};
	profile->n_sum_kernel = profile->n_sum_calls = profile->n_sum_faults = 0;
	summing.own = calloc(profile->n_frames + 1, sizeof(*summing.own));
	error = summing.places && summing.own ? NULL : rf_error_no_memory();
	for (uint32_t i = 0; !error && i < profile->n_frames; i++)
		if (is_of_system(profile, summing.places, i))
			summing.own[i] = summing.places[own_frame(profile, summing.places, i)];
	error = error ?: add_kernel(&summing) ?: add_faults(&summing) ?: add_calls(&summing)
		?: wait_sums_make(profile, summing.places, summing.own)
		?: region_sums_make(profile, summing.places) ?: mpi_sums_make(profile, summing.places);
	merge_faults(profile);
	error = error ?: add_fault_times(profile);
	merge_kernel(profile);
	free(summing.places);
	free(summing.own);
	return error;
}
