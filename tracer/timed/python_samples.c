/* The Python stacks of samples. */
#include "tracer/timed/python_samples.h"

#include "base/array.h"

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

struct rf_error *python_samples_add(struct python_samples *samples, uint32_t pid, uint32_t tid,
				    uint64_t time)
{
	struct profile *profile = samples->profile;
	const struct python_frame *frames;
	bool holds_gil;
	struct profile_python_sample row = {(uint32_t)profile->n_samples - 1, PROFILE_NONE};
	size_t n = python_stacks_find(samples->stacks, pid, tid, time, PYTHON_WITHIN_NS, &frames,
				      &holds_gil);
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

void python_samples_deinit(struct python_samples *samples)
{
	free(samples->rows);
}
