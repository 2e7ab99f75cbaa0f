/* Sums up samples and waits by region and thread.
 *
 * All threads of a region are in it from its beginning to its end.  How long that is, is known of a
 * thread that can be seen to be in it all the time: of OpenMP the one that begins it, which waits
 * for the others in its run-time library; others may be in the same code of that library before a
 * region begins.  Of a function that waits at a barrier it is known of each thread. */
#include "report/account/region_sums.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/function_index.h"
#include "profile/system_modules.h"
#include "report/account/own_function.h"
#include "report/account/region_frames.h"

#include <stdlib.h>

/* More work than that share of all by tasks whose region is not known: nothing is said. */
#define MOST_UNKNOWN 0.05

/* What a thread did in a region; of one that was begun at `site` by it. */
struct part {
	uint32_t region, thread;
	uint64_t work_ns, wait_ns; /* waiting: for the others */
	uint32_t site;             /* frame, or PROFILE_NONE */
};

struct regions {
	struct profile *profile;
	const uint32_t *places;
	bool *barriers;   /* of each place */
	uint32_t *region; /* of each place of outlined code: the region that it is of */
	struct region_frame *frames;
	struct part *parts;
	size_t n_parts, cap_parts;
	uint64_t work_ns, unknown_ns; /* of OpenMP: in all; of tasks whose region is not known */
};

/* ---- which regions there are ---- */

static bool waits_at_barrier(const struct regions *regions, const struct profile_wait *wait)
{
	return wait->frame != PROFILE_NONE &&
	       wait_kind_of(regions->profile, regions->places, wait) == WAITS_BARRIER;
}

/* Functions that wait at barriers: own code of the program that is in no region of OpenMP. */
static void find_barriers(struct regions *regions)
{
	const struct profile *profile = regions->profile;
	for (size_t i = 0; i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		if (!waits_at_barrier(regions, wait) ||
		    regions->frames[wait->frame].part != REGION_NONE)
			continue;
		const uint32_t own = own_frame(profile, regions->places, wait->frame);
		const uint32_t module = profile->frames[own].module;
		if (module != PROFILE_NONE &&
		    !profile_is_system_module(profile->modules[module].name))
			regions->barriers[regions->places[own]] = true;
	}
}

/* The place of a frame of OpenMP's that the program's own code called at `site`, as stacks show. */
static uint32_t region_at(const struct regions *regions, uint32_t site)
{
	const struct profile_frame *want = &regions->profile->frames[site];
	for (uint32_t i = 0; i < regions->profile->n_frames; i++) {
		const struct region_frame *frame = &regions->frames[i];
		if (frame->part != REGION_WORK || frame->site == PROFILE_NONE)
			continue;
		const struct profile_frame *at = &regions->profile->frames[frame->site];
		if (at->module == want->module && at->offset == want->offset)
			return frame->region;
	}
	return PROFILE_NONE;
}

/* Tasks are of the region in which they were seen; the thread that waits for a region, of that
 * which it was seen to run. */
static void link_regions(struct regions *regions)
{
	const size_t n = regions->profile->n_frames;
	uint32_t last_site = PROFILE_NONE, last = PROFILE_NONE;
	for (uint32_t i = 0; i < n; i++) {
		struct region_frame *frame = &regions->frames[i];
		const uint32_t place = regions->places[i];
		if (frame->part == REGION_WORK && frame->region != place &&
		    region_is_outlined(regions->profile, place))
			regions->region[place] = frame->region;
		if (frame->part != REGION_CALLER)
			continue;
		if (frame->site != last_site)
			last = region_at(regions, frame->site);
		last_site = frame->site;
		frame->region = last;
	}
}

/* ---- sums ---- */

static struct rf_error *add(struct regions *regions, uint32_t frame, uint32_t thread, uint64_t ns,
			    bool waits)
{
	if (frame == PROFILE_NONE || regions->frames[frame].region == PROFILE_NONE)
		return NULL;
	const struct region_frame *at = &regions->frames[frame];
	struct part part = {at->region, thread, 0, 0, at->site};
	const uint32_t region = regions->region[at->region];
	part.region = region == PROFILE_NONE ? at->region : region;
	*(waits || at->part != REGION_WORK ? &part.wait_ns : &part.work_ns) = ns;
	return rf_array_add(regions->parts, regions->n_parts, regions->cap_parts, part);
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return rf_compare(x->region, y->region) ?: rf_compare(x->thread, y->thread);
}

/* One part for each region and thread. */
static struct rf_error *add_all(struct regions *regions)
{
	const struct profile *profile = regions->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		error = add(regions, sample->frame, sample->thread, sample->weight_ns, false);
	}
	for (size_t i = 0; !error && i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		error = add(regions, wait->frame, wait->thread, wait->time_ns,
			    waits_at_barrier(regions, wait));
	}
	struct part *parts = regions->parts;
	size_t n = 0;
	if (error || !regions->n_parts)
		return error;
	qsort(parts, regions->n_parts, sizeof(*parts), compare_parts);
	for (size_t i = 1; i < regions->n_parts; i++) {
		if (compare_parts(&parts[n], &parts[i]) != 0) {
			parts[++n] = parts[i];
			continue;
		}
		parts[n].work_ns += parts[i].work_ns;
		parts[n].wait_ns += parts[i].wait_ns;
		if (parts[n].site == PROFILE_NONE)
			parts[n].site = parts[i].site;
	}
	regions->n_parts = n + 1;
	return NULL;
}

/* ---- threads that took part without time ---- */

static int compare_numbers(const void *a, const void *b)
{
	return rf_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* How many threads of the counted run executed the code of a place. */
static uint32_t counted_threads(const struct profile *profile, uint32_t place)
{
	uint32_t *threads = malloc((profile->n_counts + 1) * sizeof(*threads)), n = 0, distinct = 0;
	const struct profile_function *function = &profile->functions[place];
	for (size_t i = 0; threads && place < profile->n_functions && i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct profile_block *block = &profile->blocks[count->block];
		if (count->n > 0 && block->module == function->module &&
		    block->start >= function->start && block->start < function->end)
			threads[n++] = count->thread;
	}
	if (n)
		qsort(threads, n, sizeof(*threads), compare_numbers);
	for (uint32_t i = 0; i < n; i++)
		distinct += !i || threads[i] != threads[i - 1];
	free(threads);
	return distinct;
}

/* ---- rows ---- */

static struct profile_sum_region row_of(const struct regions *regions, const struct part *parts,
					size_t n)
{
	const struct profile *profile = regions->profile;
	const uint32_t place = parts->region, counted = counted_threads(profile, place);
	struct profile_sum_region row = {.caller_function = PROFILE_NONE,
					 .caller_module = PROFILE_NONE,
					 .threads = (uint32_t)n > counted ? (uint32_t)n : counted};
	uint64_t work = 0, all = 0, began = 0, n_began = 0;
	row.least_ns = row.threads > n ? 0 : UINT64_MAX;
	profile_split_place(profile, place, &row.function, &row.module);
	for (size_t i = 0; i < n; i++) {
		const struct part *part = &parts[i];
		work += part->work_ns;
		all += part->work_ns + part->wait_ns;
		row.most_ns = part->work_ns > row.most_ns ? part->work_ns : row.most_ns;
		row.least_ns = part->work_ns < row.least_ns ? part->work_ns : row.least_ns;
		if (part->site == PROFILE_NONE)
			continue;
		began += part->work_ns + part->wait_ns;
		n_began++;
		profile_split_place(profile, regions->places[part->site], &row.caller_function,
				    &row.caller_module);
	}
	row.mean_ns = work / row.threads;
	row.elapsed_ns = n_began ? began / n_began : all / row.threads;
	if (!n_began && !regions->barriers[place]) /* its end is not known */
		row.threads = 0;
	/* of samples and few threads it is not exact */
	row.elapsed_ns = row.elapsed_ns > row.mean_ns ? row.elapsed_ns : row.mean_ns;
	return row;
}

static struct rf_error *add_rows(struct regions *regions)
{
	struct profile *profile = regions->profile;
	struct rf_error *error = NULL;
	for (size_t first = 0, end; !error && first < regions->n_parts; first = end) {
		for (end = first; end < regions->n_parts &&
				  regions->parts[end].region == regions->parts[first].region;)
			end++;
		const struct profile_sum_region row =
			row_of(regions, regions->parts + first, end - first);
		const uint64_t work = row.mean_ns * row.threads;
		const bool outlined = region_is_outlined(profile, regions->parts[first].region);
		for (size_t i = first; outlined && !row.threads && i < end; i++)
			regions->unknown_ns += regions->parts[i].work_ns;
		regions->work_ns += outlined ? work : 0;
		if (row.threads > 1 && work)
			error = rf_array_add(profile->sum_regions, profile->n_sum_regions,
					     profile->cap_sum_regions, row);
	}
	return error;
}

/* Where the region of much work is not known, those that are known have less than they should. */
static void leave_out_openmp(struct regions *regions)
{
	struct profile *profile = regions->profile;
	size_t n = 0;
	if ((double)regions->unknown_ns <= MOST_UNKNOWN * (double)regions->work_ns)
		return;
	for (size_t i = 0; i < profile->n_sum_regions; i++)
		if (profile->sum_regions[i].function == PROFILE_NONE ||
		    !region_is_outlined(profile, profile->sum_regions[i].function))
			profile->sum_regions[n++] = profile->sum_regions[i];
	profile->n_sum_regions = n;
}

static struct rf_error *make(struct regions *regions)
{
	const struct profile *profile = regions->profile;
	const size_t n = profile_n_places(profile);
	regions->barriers = calloc(n, sizeof(*regions->barriers));
	regions->region = malloc(n * sizeof(*regions->region));
	if (!regions->barriers || !regions->region)
		return rf_error_no_memory();
	memset(regions->region, 0xff, n * sizeof(*regions->region)); /* PROFILE_NONE */
	regions->frames = region_frames(profile, regions->places, regions->barriers);
	if (!regions->frames)
		return rf_error_no_memory();
	find_barriers(regions);
	free(regions->frames);
	regions->frames = region_frames(profile, regions->places, regions->barriers);
	if (!regions->frames)
		return rf_error_no_memory();
	link_regions(regions);
	struct rf_error *error = add_all(regions) ?: add_rows(regions);
	leave_out_openmp(regions);
	return error;
}

struct rf_error *region_sums_make(struct profile *profile, const uint32_t *places)
{
	struct regions regions = {.profile = profile, .places = places};
	profile->n_sum_regions = 0;
	if (!profile->n_thread_times || profile_get_fact(profile, "no_kernel_samples"))
		return NULL;
	struct rf_error *error = make(&regions);
	free(regions.barriers);
	free(regions.region);
	free(regions.frames);
	free(regions.parts);
	return error;
}
