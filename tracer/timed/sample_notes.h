/* What is missing of samples, as notes of the profile. */
#pragma once

#include "profile/profile.h"
#include "tracer/process/perf_maps.h"
#include "tracer/timed/python_samples.h"

/* What of Python is missing. */
void sample_notes_python(struct profile *profile, const struct python_stacks *python);
/* What is missing of the names of code that was made at run time. */
void sample_notes_names(struct profile *profile, const struct perf_maps *names);
/* The fact sample_period_ns; 0: the mean weight of the samples. */
void sample_notes_period(struct profile *profile, uint64_t period_ns);
