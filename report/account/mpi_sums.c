/* Frames first: which call a frame is in, and whether it looks for progress there; then samples and
 * waits by them. */
#include "report/account/mpi_sums.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/function_index.h"
#include "report/account/mpi_calls.h"
#include "report/model/model_samples.h"

#include <stdlib.h>
#include <string.h>

/* What a frame is in. */
struct state {
	uint32_t call; /* place of the outermost call of MPI, or PROFILE_NONE */
	bool progress; /* below a function that looks for progress */
	bool unnamed;  /* its own code has no name */
};

/* Time of one call (by its place until names are made) and part. */
struct time {
	uint32_t place;
	enum mpi_part part;
	uint64_t samples, time_ns, waited_ns;
};

struct summing {
	struct profile *profile;
	const uint32_t *places;
	struct state *states; /* of frames */
	struct time *times;
	size_t n_times, cap_times;
};

/* "" of code without a name. */
static const char *name_at(const struct summing *summing, uint32_t frame)
{
	const uint32_t place = summing->places[frame];
	const struct profile *profile = summing->profile;
	const char *name = place < profile->n_functions ? profile->functions[place].name : "";
	return strstr(name, "+0x") ? "" : name;
}

/* Parents stand before their children. */
static bool find_states(struct summing *summing)
{
	const struct profile *profile = summing->profile;
	bool any = false;
	for (uint32_t i = 0; i < profile->n_frames; i++) {
		const uint32_t parent = profile->frames[i].parent;
		const char *name = name_at(summing, i);
		struct state *state = &summing->states[i];
		*state = (struct state){.call = PROFILE_NONE};
		if (parent != PROFILE_NONE)
			*state = summing->states[parent];
		if (state->call == PROFILE_NONE && mpi_is_call(name))
			state->call = summing->places[i];
		else if (state->call != PROFILE_NONE)
			state->progress |= mpi_is_progress(name);
		state->unnamed = !*name;
		any |= state->call != PROFILE_NONE;
	}
	return any;
}

static enum mpi_part part_of(const struct summing *summing, uint32_t frame)
{
	const struct profile *profile = summing->profile;
	const struct state *state = &summing->states[frame];
	const uint32_t parent = profile->frames[frame].parent;
	const char *name = name_at(summing, frame);
	if (mpi_is_sleep(name))
		return MPI_WAITING;
	if (mpi_is_copy(name))
		return MPI_COPYING;
	/* what the kernel does for a copy, such as page faults */
	if (profile_is_kernel(profile, profile->frames[frame].module) && parent != PROFILE_NONE &&
	    mpi_is_copy(name_at(summing, parent)))
		return MPI_COPYING;
	if (state->progress)
		return MPI_WAITING;
	const bool blocks = mpi_is_blocking(profile->functions[state->call].name);
	return blocks && state->unnamed ? MPI_WAITING : MPI_OTHER;
}

static struct rf_error *add(struct summing *summing, const struct time *time)
{
	return rf_array_add(summing->times, summing->n_times, summing->cap_times, *time);
}

static struct rf_error *add_samples(struct summing *summing)
{
	const struct profile *profile = summing->profile;
	const uint64_t cost = model_sample_cost(profile);
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		if (sample->frame == PROFILE_NONE ||
		    summing->states[sample->frame].call == PROFILE_NONE)
			continue;
		const struct time time = {summing->states[sample->frame].call,
					  part_of(summing, sample->frame), 1,
					  model_sample_weight(sample, cost), 0};
		error = add(summing, &time);
	}
	return error;
}

static struct rf_error *add_waits(struct summing *summing)
{
	const struct profile *profile = summing->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_waits; i++) {
		const struct profile_wait *wait = &profile->waits[i];
		if (wait->frame == PROFILE_NONE ||
		    summing->states[wait->frame].call == PROFILE_NONE)
			continue;
		const struct time time = {summing->states[wait->frame].call, MPI_WAITING, 0, 0,
					  wait->time_ns};
		error = add(summing, &time);
	}
	return error;
}

/* ---- by name ---- */

static int compare_times(const void *a, const void *b)
{
	const struct time *x = a, *y = b;
	return rf_compare(x->place, y->place) ?: rf_compare(x->part, y->part);
}

static struct profile_sum_mpi *row_of(struct profile *profile, const char *call, enum mpi_part part)
{
	struct profile_sum_mpi fresh = {.name = mpi_call_name(call), .part = part};
	for (size_t i = 0; fresh.name && i < profile->n_sum_mpi; i++)
		if (profile->sum_mpi[i].part == part &&
		    strcmp(profile->sum_mpi[i].name, fresh.name) == 0) {
			free(fresh.name);
			return &profile->sum_mpi[i];
		}
	if (fresh.name &&
	    rf_array_push(profile->sum_mpi, profile->n_sum_mpi, profile->cap_sum_mpi, fresh))
		return &profile->sum_mpi[profile->n_sum_mpi - 1];
	free(fresh.name);
	return NULL;
}

/* Several places may have one name: the call, and the one that a profiling library wraps around it.
 */
static struct rf_error *write_rows(struct summing *summing)
{
	struct profile *profile = summing->profile;
	if (summing->n_times)
		qsort(summing->times, summing->n_times, sizeof(*summing->times), compare_times);
	struct profile_sum_mpi *row = NULL;
	for (size_t i = 0; i < summing->n_times; i++) {
		const struct time *time = &summing->times[i];
		if (!i || compare_times(time, time - 1) != 0)
			row = row_of(profile, profile->functions[time->place].name, time->part);
		if (!row)
			return rf_error_no_memory();
		row->samples += time->samples;
		row->time_ns += time->time_ns;
		row->waited_ns += time->waited_ns;
	}
	return NULL;
}

struct rf_error *mpi_sums_make(struct profile *profile, const uint32_t *places)
{
	struct summing summing = {
		profile, places, calloc(profile->n_frames + 1, sizeof(*summing.states)),
		NULL,    0,      0};
	struct rf_error *error = summing.states ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < profile->n_sum_mpi; i++)
		free(profile->sum_mpi[i].name);
	profile->n_sum_mpi = 0;
	if (!error && find_states(&summing))
		error = add_samples(&summing) ?: add_waits(&summing) ?: write_rows(&summing);
	free(summing.states);
	free(summing.times);
	return error;
}
