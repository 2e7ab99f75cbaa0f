/* Finds kernels in the stacks of samples. */
#include "report/rows/kernel_samples.h"

#include "base/search.h"
#include "profile/function_index.h"
#include "report/rows/code_names.h"

#include <stdlib.h>

/* Per place of the profile its kernel, plus 1; NULL: no memory. */
static uint32_t *kernels_of_places(const struct profile *profile)
{
	uint32_t *of = calloc(profile_n_places(profile), sizeof(*of));
	for (size_t i = 0; of && i < profile->n_kernel_places; i++) {
		const struct profile_kernel_place *place = &profile->kernel_places[i];
		const uint32_t function =
			profile_function_at(profile, place->module, place->offset, NULL);
		if (function != PROFILE_NONE)
			of[function] = place->kernel + 1;
	}
	return of;
}

uint32_t *kernel_frames(const struct profile *profile)
{
	uint32_t *places = profile_places_of_frames(profile);
	uint32_t *of_place = places ? kernels_of_places(profile) : NULL;
	uint32_t *of = of_place ? malloc((profile->n_frames + 1) * sizeof(*of)) : NULL;
	for (size_t i = 0; of && i < profile->n_frames; i++) { /* parents come first */
		const uint32_t parent = profile->frames[i].parent;
		const uint32_t outer = parent == PROFILE_NONE ? 0 : of[parent];
		of[i] = outer ? outer : of_place[places[i]];
	}
	free(places);
	free(of_place);
	return of;
}

/* ---- stacks that end within a kernel ---- */

/* Hand-written code often says nothing of its callers.  Where a stack ends in a function of which
 * at least so much was counted for one kernel, its samples are that one's. */
#define MOST_OF_IT 0.9

/* Per function of the profile such a kernel, plus 1, by the bytes of code that ran; NULL: no
 * memory. */
static uint32_t *kernels_by_work(const struct profile *profile)
{
	const size_t width = profile->n_kernels + 1;
	double *bytes = calloc(profile->n_functions * width + 1, sizeof(*bytes));
	uint32_t *of = bytes ? calloc(profile->n_functions + 1, sizeof(*of)) : NULL;
	for (size_t i = 0; of && i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct profile_block *block = &profile->blocks[count->block];
		const uint32_t function =
			profile_function_at(profile, block->module, block->start, NULL);
		const uint32_t kernel = count->kernel < width ? count->kernel : 0;
		if (function != PROFILE_NONE)
			bytes[function * width + kernel] += (double)count->n * block->size;
	}
	for (size_t f = 0; of && f < profile->n_functions; f++) {
		double all = 0;
		for (size_t k = 0; k < width; k++)
			all += bytes[f * width + k];
		for (uint32_t k = 1; k < width; k++)
			if (all > 0 && bytes[f * width + k] >= MOST_OF_IT * all)
				of[f] = k;
	}
	free(bytes);
	return of;
}

/* Per frame whether its stack is known to its beginning. */
static bool is_whole(const struct profile *profile, const uint32_t *places, uint32_t frame)
{
	while (profile->frames[frame].parent != PROFILE_NONE)
		frame = profile->frames[frame].parent;
	return report_is_start_up(report_row_name(profile, places[frame]));
}

/* The kernel that the outermost function of a stack works for, or 0. */
static uint32_t kernel_of_outermost(const struct profile *profile, const uint32_t *places,
				    const uint32_t *by_work, uint32_t frame)
{
	if (is_whole(profile, places, frame))
		return 0;
	while (profile->frames[frame].parent != PROFILE_NONE)
		frame = profile->frames[frame].parent;
	return places[frame] < profile->n_functions ? by_work[places[frame]] : 0;
}

/* False when memory is short. */
static bool add_unwound(const struct profile *profile, uint32_t *kernels)
{
	uint32_t *places = profile_places_of_frames(profile);
	uint32_t *by_work = places ? kernels_by_work(profile) : NULL;
	for (size_t i = 0; by_work && i < profile->n_samples; i++)
		if (!kernels[i] && profile->samples[i].frame != PROFILE_NONE)
			kernels[i] = kernel_of_outermost(profile, places, by_work,
							 profile->samples[i].frame);
	free(places);
	free(by_work);
	return by_work;
}

/* ---- threads that work for others ---- */

/* Time that a sample of a kernel stands for, in a process. */
struct stretch {
	int pid;
	uint32_t kernel;
	uint64_t start, end;
};

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;
	return rf_compare(x->pid, y->pid) ?: rf_compare(x->end, y->end);
}

static struct stretch *find_stretches(const struct profile *profile, const uint32_t *kernels,
				      bool *calls, size_t *n)
{
	struct stretch *items = malloc((profile->n_samples + 1) * sizeof(*items));
	*n = 0;
	for (size_t i = 0; items && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint64_t end = sample->time_ns, stay = sample->weight_ns;
		if (!kernels[i])
			continue;
		calls[sample->thread] = true;
		items[(*n)++] = (struct stretch){profile->threads[sample->thread].pid, kernels[i],
						 end > stay ? end - stay : 0, end};
	}
	if (items && *n)
		qsort(items, *n, sizeof(*items), compare_stretches);
	return items;
}

/* The kernel of the first stretch that ends no earlier than that time, where it has begun. */
static uint32_t kernel_at(const struct stretch *items, size_t n, int pid, uint64_t time_ns)
{
	const size_t at =
		rf_search(n, i,
			  items[i].pid < pid || (items[i].pid == pid && items[i].end < time_ns));
	return at < n && items[at].pid == pid && items[at].start <= time_ns ? items[at].kernel : 0;
}

/* The middle of what a sample stands for says where it belongs. */
static bool add_workers(const struct profile *profile, uint32_t *kernels)
{
	bool *calls = calloc(profile->n_threads + 1, sizeof(*calls));
	size_t n;
	struct stretch *items = calls ? find_stretches(profile, kernels, calls, &n) : NULL;
	for (size_t i = 0; items && n && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint64_t half = sample->weight_ns / 2;
		if (!calls[sample->thread])
			kernels[i] = kernel_at(items, n, profile->threads[sample->thread].pid,
					       sample->time_ns > half ? sample->time_ns - half : 0);
	}
	free(calls);
	free(items);
	return items;
}

uint32_t *kernel_samples(const struct profile *profile)
{
	uint32_t *frames = kernel_frames(profile);
	uint32_t *of = frames ? calloc(profile->n_samples + 1, sizeof(*of)) : NULL;
	for (size_t i = 0; of && i < profile->n_samples; i++)
		if (profile->samples[i].frame != PROFILE_NONE)
			of[i] = frames[profile->samples[i].frame];
	if (of && (!add_unwound(profile, of) || !add_workers(profile, of))) {
		free(of);
		of = NULL;
	}
	free(frames);
	return of;
}
