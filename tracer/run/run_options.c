/* The words of --sampler. */
#include "tracer/run/run_options.h"

#include <stddef.h>

const struct rf_word sampler_option_words[] = {
	{"auto", SAMPLER_AUTO},
	{"perf", SAMPLER_PERF},
	{"timer", SAMPLER_TIMER},
	{NULL, 0},
};
