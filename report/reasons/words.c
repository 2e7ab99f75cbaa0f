/* What the model's kinds are called, the same in all views. */
#include "report/reasons/words.h"

#include <assert.h>

static const struct {
	const char *name, *title;
} bounds[] = {
	[BOUND_UNKNOWN] = {"unknown", "no roof"},    [BOUND_UNCOUNTED] = {"uncounted", "uncounted"},
	[BOUND_MEMORY] = {"memory", "memory"},       [BOUND_COMPUTE] = {"compute", "compute"},
	[BOUND_BALANCED] = {"balanced", "balanced"}, [BOUND_ISSUE] = {"issue", "instruction issue"},
	[BOUND_LATENCY] = {"latency", "latency"},
};

const char *report_bound_name(enum model_bound bound)
{
	assert((size_t)bound < sizeof(bounds) / sizeof(*bounds));
	return bounds[bound].name;
}

const char *report_bound_title(enum model_bound bound)
{
	assert((size_t)bound < sizeof(bounds) / sizeof(*bounds));
	return bounds[bound].title;
}

const char *report_memory_words(enum model_memory source)
{
	static const char *const words[N_MODEL_MEMORY] = {
		[MEMORY_UNKNOWN] = "unknown",
		[MEMORY_TRACED] = "traced, caches simulated",
		[MEMORY_COUNTED] = "PMU: bytes at memory, sampled by function",
		[MEMORY_SHARED] = ("PMU: an estimate, the program's bytes shared out as the misses "
				   "of the last cache are"),
		[MEMORY_MISSES] = "PMU: misses of the last cache, a lower bound",
	};
	assert((size_t)source < N_MODEL_MEMORY);
	return words[source];
}
