/* The Python stacks of samples: from the looks at a process to rows of its profile. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "profile/profile.h"
#include "tracer/python/python_stacks.h"

#include <stdint.h>

/* How far a look may be from a sample: half again as far as looks are from each other.  Sure ones
 * may be farther (python_stacks_find): no sample asks for what is PYTHON_KEPT_NS before it. */
#define PYTHON_WITHIN_NS UINT64_C(15000000)
#define PYTHON_KEPT_NS (PYTHON_WITHIN_NS * 20)

struct python_sample {
	uint32_t row; /* of the profile's samples */
	uint32_t pid, tid;
	uint64_t time;
};

struct python_samples {
	struct python_stacks *stacks; /* not owned */
	struct profile *profile;      /* not owned */
	uint32_t *rows;               /* of functions by their number, plus 1; 0: not yet known */
	size_t n_rows;
	struct python_sample *waiting;
	size_t n_waiting, cap_waiting;
	struct u64_map thread_of; /* → times: of the last sample of each thread */
	uint64_t *times;
	size_t n_times, cap_times;
};

/* The last sample of the profile is of this thread and `time` (CLOCK_MONOTONIC, ns), and stands for
 * `weight_ns` before it; samples come in the order of their times.  Fails only when memory is
 * short. */
struct rf_error *python_samples_add(struct python_samples *samples, uint32_t pid, uint32_t tid,
				    uint64_t time, uint64_t weight_ns);
/* Notes what Python was at in all samples since the last call, where there are looks near enough.
 * Fails only when memory is short. */
struct rf_error *python_samples_join(struct python_samples *samples);
void python_samples_deinit(struct python_samples *samples);
