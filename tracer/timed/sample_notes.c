/* Words for what samples lack. */
#include "tracer/timed/sample_notes.h"

#include "symbols/jit_dump.h"

#include <inttypes.h>

/* One look at Python in so many may be torn without a word. */
enum { MOST_TORN = 20 };

void sample_notes_python(struct profile *profile, const struct python_stacks *python)
{
	uint64_t looks, torn;
	const char *refused = python_stacks_refused(python);
	python_stacks_counts(python, &looks, &torn);
	if (refused)
		profile_note_unread(profile, "what Python was at", refused);
	if (torn > looks / MOST_TORN)
		profile_add_note(profile,
				 "%.0f %% of the looks at threads of Python saw them change and "
				 "gave nothing: samples have the Python stack of another moment, "
				 "or none",
				 100 * (double)torn / (double)looks);
}

void sample_notes_names(struct profile *profile, const struct perf_maps *names)
{
	const unsigned unused = perf_maps_unused(names);
	if (perf_maps_trouble(names))
		profile_note_unread(profile, "names of code made at run time",
				    perf_maps_trouble(names));
	if (unused & JIT_DUMP_CLOCK)
		profile_add_note(
			profile,
			"the times in jit-PID.dump are not those of CLOCK_MONOTONIC: where "
			"code was used again for another function, the one written last has "
			"the time of both");
	if (unused & JIT_DUMP_LINES)
		profile_add_note(profile, "some lines of source in jit-PID.dump make no sense, "
					  "or are more than are read: their functions have none");
	if (unused & JIT_DUMP_CUT)
		profile_add_note(profile, "jit-PID.dump has more functions than are read: some "
					  "have no names, or those of earlier ones");
}

static uint64_t mean_weight(const struct profile *profile)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < profile->n_samples; i++)
		sum += profile->samples[i].weight_ns;
	return profile->n_samples ? sum / profile->n_samples : 0;
}

void sample_notes_period(struct profile *profile, uint64_t period_ns)
{
	profile_set_fact(profile, "sample_period_ns", "%" PRIu64,
			 period_ns ? period_ns : mean_weight(profile));
}
