/* The words of --sampler and --run. */
#include "tracer/run/run_options.h"

#include <stddef.h>

const struct rf_word run_kind_words[] = {
	{"both", RUN_KIND_BOTH},
	{"time", RUN_KIND_TIME},
	{"count", RUN_KIND_COUNT},
	{NULL, 0},
};

const struct rf_word sampler_option_words[] = {
	{"auto", SAMPLER_AUTO},
	{"perf", SAMPLER_PERF},
	{"timer", SAMPLER_TIMER},
	{NULL, 0},
};
