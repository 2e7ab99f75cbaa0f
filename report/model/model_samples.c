/* Samples → time of each thread in each row, and how many threads are in a row at a time. */
#include "report/model/model_samples.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "profile/function_index.h"
#include "report/model/model_runs.h"

#include <math.h>
#include <stdlib.h>

/* A stretch of time of a thread in a row: what one sample stands for. */
struct stay {
	uint32_t row, thread;
	uint64_t start, end;
};

uint64_t model_sample_cost(const struct profile *profile)
{
	const double cost = profile_number_fact(profile, "sample_cost_ns", 0);
	return cost > 0 && cost < 1e9 ? (uint64_t)cost : 0;
}

uint64_t model_sample_weight(const struct profile_sample *sample, uint64_t cost)
{
	/* no more than half, so that absurd figures leave a time to divide by */
	uint64_t stay = sample->weight_ns;
	return stay - (cost < stay / 2 ? cost : stay / 2);
}

double model_sample_spread(const struct profile *profile)
{
	const double spread = profile_number_fact(profile, "sample_spread", 1);
	return spread > 1 && spread < 1e3 ? spread : 1;
}

/* What samples at each frame are to be multiplied by, the last of those without a frame; NULL where
 * there was one run. */
static struct rf_error *find_scales(const struct profile *profile, double **out)
{
	const size_t n = model_n_runs(profile);
	struct model_run_time *times = n ? model_sum_run_times(profile, NULL) : NULL;
	uint32_t *places = times ? profile_places_of_frames(profile) : NULL;
	double *scales = places ? malloc((profile->n_frames + 1) * sizeof(*scales)) : NULL;
	*out = scales;
	for (size_t i = 0; scales && i <= profile->n_frames; i++) {
		const size_t place =
			i < profile->n_frames ? places[i] : profile_n_places(profile) - 1;
		scales[i] = model_run_scale(profile, &times[place * n]);
	}
	free(times);
	free(places);
	return n && !scales ? rf_error_no_memory() : NULL;
}

/* Sets model->sample_ns. */
static struct rf_error *weigh(const struct profile *profile, struct model *model)
{
	const uint64_t cost = model_sample_cost(profile);
	double *scales;
	struct rf_error *error = find_scales(profile, &scales);
	model->sample_ns = malloc((profile->n_samples + 1) * sizeof(*model->sample_ns));
	if (!error && !model->sample_ns)
		error = rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const size_t frame =
			sample->frame == PROFILE_NONE ? profile->n_frames : sample->frame;
		const uint64_t weight = model_sample_weight(sample, cost);
		model->sample_ns[i] =
			scales ? (uint64_t)fmin((double)weight * scales[frame] + 0.5, 0x1p62)
			       : weight;
	}
	free(scales);
	return error;
}

/* ---- concurrency ---- */

static int compare_starts(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	return rf_compare(x->start, y->start);
}

static int compare_stays(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	return rf_compare(x->row, y->row) ?: rf_compare(x->thread, y->thread)
	       ?: rf_compare(x->start, y->start);
}

/* Time that is in at least one of `n` stays, which are sorted by their start. */
static double covered_ns(const struct stay *stays, size_t n)
{
	double covered = 0;
	uint64_t until = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t start = stays[i].start > until ? stays[i].start : until;
		if (stays[i].end <= start)
			continue;
		covered += (double)(stays[i].end - start);
		until = stays[i].end;
	}
	return covered;
}

/* Concurrency of the `n` stays in a row: threads' time in it, over the time in which at least one
 * is.  Threads that take turns within a sample period count as concurrent: an estimate, from above.
 * Sorts the stays anew. */
static double concurrency_of(struct stay *stays, size_t n)
{
	double sum = 0;
	for (size_t i = 0, of_thread; i < n; i += of_thread) {
		for (of_thread = 1;
		     i + of_thread < n && stays[i + of_thread].thread == stays[i].thread;)
			of_thread++;
		sum += covered_ns(stays + i, of_thread);
	}
	qsort(stays, n, sizeof(*stays), compare_starts);
	double any = covered_ns(stays, n);
	return any > 0 ? sum / any : 1;
}

/* Hardware threads bound the concurrency. */
static void set_concurrency(struct model_rows *rows, struct stay *stays, size_t n)
{
	const double limit = profile_number_fact(rows->profile, "usable_threads", 0);
	qsort(stays, n, sizeof(*stays), compare_stays);
	for (size_t i = 0, of_row; i < n; i += of_row) {
		uint32_t row = stays[i].row;
		for (of_row = 1; i + of_row < n && stays[i + of_row].row == row;)
			of_row++;
		double c = concurrency_of(stays + i, of_row);
		rows->rows[row].concurrency = limit >= 1 && c > limit ? limit : c;
	}
}

/* ---- times ---- */

/* Row of each frame, so that each is looked up once; the last: of samples without a frame. */
static uint32_t *rows_of_frames(const struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	uint32_t *row_of = malloc((profile->n_frames + 1) * sizeof(*row_of));
	for (size_t i = 0; row_of && i < profile->n_frames; i++)
		row_of[i] = (uint32_t)model_row_at(rows, profile->frames[i].module,
						   profile->frames[i].offset, NULL);
	if (row_of)
		row_of[profile->n_frames] = (uint32_t)rows->n_places - 1;
	return row_of;
}

/* The end of a thread that went on natively in the counted run is as long in this one, up to how
 * runs differ. */
#define NATIVE_SPREAD 0.05
#define NATIVE_MARGIN_NS 10000000

/* Of each sample, whether its thread may have gone on natively by then in the counted run; samples
 * come in the order of their times.  NULL: memory is short. */
static bool *native_samples(const struct profile *profile, const struct model_threads *threads)
{
	bool *native = calloc(profile->n_samples + 1, sizeof(*native));
	uint64_t *behind = calloc(profile->n_threads + 1, sizeof(*behind));
	for (size_t i = profile->n_samples; native && behind && i-- > 0;) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint32_t twin = threads->twin_thread[sample->thread];
		const uint64_t native_ns = twin == PROFILE_NONE ? 0 : threads->native_ns[twin];
		const double margin = NATIVE_SPREAD * (double)native_ns + NATIVE_MARGIN_NS;
		native[i] = native_ns > 0 &&
			    (double)behind[sample->thread] < (double)native_ns + margin;
		model_add_ns(&behind[sample->thread], sample->weight_ns);
	}
	if (!behind) {
		free(native);
		native = NULL;
	}
	free(behind);
	return native;
}

/* Finds or adds the time of this row, thread and kind; PROFILE_NONE when memory is short. */
static uint32_t time_of(struct model_rows *rows, struct u64_map *map,
			const struct model_time_sum *fresh)
{
	const uint64_t key =
		((uint64_t)fresh->row << 33 | (uint64_t)fresh->uncounted << 32 | fresh->thread) + 1;
	const uint32_t *found = u64_map_find(map, key);
	if (found)
		return *found;
	const uint32_t index = (uint32_t)rows->n_times;
	return rf_array_push(rows->times, rows->n_times, rows->cap_times, *fresh) &&
			       u64_map_set(map, key, index)
		       ? index
		       : PROFILE_NONE;
}

/* Sums up the samples; of_sample[i] gets the time that sample i is in.  With groups it is known
 * already what of them was not counted. */
static struct rf_error *sum_times(struct model_rows *rows, const uint32_t *row_of,
				  const uint64_t *sample_ns, const bool *native,
				  uint32_t *of_sample)
{
	const struct profile *profile = rows->profile;
	struct u64_map map = {0};
	size_t i = 0;
	for (; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const size_t frame =
			sample->frame == PROFILE_NONE ? profile->n_frames : sample->frame;
		const uint32_t *kernels = rows->groups ? rows->groups->kernel_of_sample : NULL;
		const struct model_time_sum fresh = {
			.row = (uint32_t)model_row_of_work(rows, row_of[frame], sample->thread,
							   kernels ? kernels[i] : 0),
			.thread = sample->thread,
			.uncounted = rows->groups && rows->groups->uncounted[i],
		};
		of_sample[i] = time_of(rows, &map, &fresh);
		if (of_sample[i] == PROFILE_NONE)
			break;
		struct model_time_sum *time = &rows->times[of_sample[i]];
		time->samples++;
		model_add_ns(&time->time_ns, sample_ns[i]);
		model_add_ns(&time->native_ns, native[i] ? sample_ns[i] : 0);
	}
	u64_map_deinit(&map);
	return i == profile->n_samples ? NULL : rf_error_no_memory();
}

struct rf_error *model_sum_samples(struct model_rows *rows, const struct model_threads *threads,
				   struct model *model)
{
	const struct profile *profile = rows->profile;
	const size_t n = profile->n_samples;
	uint32_t *row_of = rows_of_frames(rows), *of_sample = malloc((n + 1) * sizeof(*of_sample));
	struct stay *stays = malloc((n + 1) * sizeof(*stays));
	bool *native = native_samples(profile, threads);
	struct rf_error *error = row_of && of_sample && stays && native ? weigh(profile, model)
									: rf_error_no_memory();
	if (!error)
		error = sum_times(rows, row_of, model->sample_ns, native, of_sample);
	if (!error && model_n_runs(profile)) {
		rows->run_times = model_sum_run_times(profile, rows);
		error = rows->run_times ? NULL : rf_error_no_memory();
	}
	if (!error)
		error = model_find_uncounted(rows, threads, model);
	for (size_t i = 0; !error && i < n; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const struct model_time_sum *time = &rows->times[of_sample[i]];
		const uint64_t end = sample->time_ns, stay = sample->weight_ns;
		model->uncounted_samples[i] = time->uncounted;
		stays[i] = (struct stay){(uint32_t)model_row_of_time(rows, time), sample->thread,
					 end > stay ? end - stay : 0, end};
	}
	if (!error)
		set_concurrency(rows, stays, n);
	free(row_of);
	free(of_sample);
	free(stays);
	free(native);
	return error;
}

/* ---- times of threads in rows → times of rows, processes and the program ---- */

/* The process's part. */
static void add_to_process(const struct model_threads *threads, struct model *model,
			   const struct model_time_sum *time)
{
	const uint32_t row = threads->process_of[time->thread];
	if (row == PROFILE_NONE)
		return;
	struct model_process *process = &model->processes[threads->shown[row]];
	process->n_samples += time->samples;
	model_add_ns(&process->time_ns, time->time_ns);
	if (time->uncounted)
		model_add_ns(&process->uncounted_ns, time->time_ns);
}

/* Threads are not told apart in runs that are not shown: rows of theirs have the spread of samples.
 */
static void set_runs(const struct model_rows *rows, size_t row, struct model_function *function)
{
	const size_t n = rows->profile->n_timed_runs, place = row % rows->n_places;
	if (!rows->run_times || !function->n_samples || (rows->groups && rows->groups->by_owner))
		return;
	const struct model_run_time *times = &rows->run_times[place * n];
	function->runs = model_runs_of(times, n);
	function->halfwidth_s = model_run_halfwidth(times, n, (double)function->time_ns * 1e-9);
}

static void set_elapsed(struct model_function *function, double spread)
{
	const double time_s = (double)function->time_ns * 1e-9;
	if (function->concurrency < 1)
		function->concurrency = 1;
	function->elapsed_s = time_s / function->concurrency;
	/* n equal samples of a Poisson process: ± 1.96 √n of them, 95 %. */
	if (function->n_samples)
		function->halfwidth_s = 1.96 * spread * time_s / sqrt((double)function->n_samples);
}

void model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model)
{
	const struct profile *profile = rows->profile;
	const double spread = model_sample_spread(profile);
	for (size_t i = 0; i < rows->n_times; i++) {
		const struct model_time_sum *time = &rows->times[i];
		struct model_function *function = &rows->rows[model_row_of_time(rows, time)];
		add_to_process(threads, model, time);
		model->n_samples += time->samples;
		function->n_samples += time->samples;
		model_add_ns(&model->time_ns, time->time_ns);
		model_add_ns(&function->time_ns, time->time_ns);
	}
	for (size_t row = 0; row < rows->n_rows; row++)
		if (model_is_told(rows, row)) {
			set_elapsed(&rows->rows[row], spread);
			set_runs(rows, row, &rows->rows[row]);
		}
	model_total_runs(profile, model);
}
