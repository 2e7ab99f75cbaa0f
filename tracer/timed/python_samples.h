/* The Python stacks of samples: from the looks at a process to rows of its profile. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/python/python_stacks.h"

#include <stdint.h>

/* How far a look may be from a sample: half again as far as looks are from each other. */
#define PYTHON_WITHIN_NS UINT64_C(15000000)

struct python_samples {
	struct python_stacks *stacks; /* not owned */
	struct profile *profile;      /* not owned */
	uint32_t *rows;               /* of functions by their number, plus 1; 0: not yet known */
	size_t n_rows;
};

/* The last sample of the profile is of this thread and `time` (CLOCK_MONOTONIC, ns): notes what its
 * Python was at, if there is a look near enough.  Fails only when memory is short. */
struct rf_error *python_samples_add(struct python_samples *samples, uint32_t pid, uint32_t tid,
				    uint64_t time);
void python_samples_deinit(struct python_samples *samples);
