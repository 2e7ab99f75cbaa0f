/* The Python stacks of samples. */
#include "tracer/timed/python_samples.h"

#include "base/array.h"

/* By how much the time of a sample is late, in ns: less than another thread needs for a turn. */
enum { JITTER_NS = 25000 };

/* The row of a function; PROFILE_NONE: memory is short. */
static uint32_t function_row(struct python_samples *samples, uint32_t number)
{
	if (!rf_array_reach((void **)&samples->rows, &samples->n_rows, number,
			    sizeof(*samples->rows)))
		return PROFILE_NONE;
	if (!samples->rows[number]) {
		const struct python_function *function =
			python_stacks_function(samples->stacks, number);
		samples->rows[number] =
			1 + profile_python_function(samples->profile, function->name,
						    function->file, function->first_line);
	}
	return samples->rows[number] - 1; /* PROFILE_NONE was noted as 0 */
}

/* The time of the last sample of a thread, 0 before the first; NULL: memory is short. */
static uint64_t *last_time(struct python_samples *samples, uint32_t pid, uint32_t tid)
{
	const uint64_t key = (uint64_t)pid << 32 | tid | UINT64_C(1) << 63;
	const uint32_t *found = u64_map_find(&samples->thread_of, key);
	if (found)
		return &samples->times[*found];
	if (!rf_array_push(samples->times, samples->n_times, samples->cap_times, 0) ||
	    !u64_map_set(&samples->thread_of, key, (uint32_t)samples->n_times - 1))
		return NULL;
	return &samples->times[samples->n_times - 1];
}

/* Samples are a period of processor time apart: where no other time has passed, the thread was not
 * interrupted. */
struct rf_error *python_samples_add(struct python_samples *samples, uint32_t pid, uint32_t tid,
				    uint64_t time, uint64_t weight_ns)
{
	const struct python_sample waiting = {(uint32_t)samples->profile->n_samples - 1, pid, tid,
					      time};
	uint64_t *last = last_time(samples, pid, tid);
	if (!last)
		return rf_error_no_memory();
	if (*last && time - *last <= weight_ns + JITTER_NS)
		python_stacks_ran(samples->stacks, pid, tid, *last, time);
	*last = time;
	return rf_array_add(samples->waiting, samples->n_waiting, samples->cap_waiting, waiting);
}

static struct rf_error *join(struct python_samples *samples, const struct python_sample *sample)
{
	struct profile *profile = samples->profile;
	const struct python_frame *frames;
	bool holds_gil;
	struct profile_python_sample row = {sample->row, PROFILE_NONE};
	size_t n = python_stacks_find(samples->stacks, sample->pid, sample->tid, sample->time,
				      PYTHON_WITHIN_NS, &frames, &holds_gil);
	if (!n)
		return NULL;
	for (; n > 0; n--) {
		const struct python_frame *frame = &frames[n - 1];
		const uint32_t function = function_row(samples, frame->function);
		row.frame = function == PROFILE_NONE
				    ? PROFILE_NONE
				    : profile_python_frame(profile, row.frame, function,
							   frame->line, frame->is_entry);
		if (row.frame == PROFILE_NONE)
			return rf_error_no_memory();
	}
	return rf_array_add(profile->python_samples, profile->n_python_samples,
			    profile->cap_python_samples, row);
}

struct rf_error *python_samples_join(struct python_samples *samples)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < samples->n_waiting; i++)
		error = join(samples, &samples->waiting[i]);
	samples->n_waiting = 0;
	return error;
}

void python_samples_deinit(struct python_samples *samples)
{
	free(samples->rows);
	free(samples->waiting);
	free(samples->times);
	u64_map_deinit(&samples->thread_of);
}
