/* The words of options that say how traffic is traced. */
#include "tracer/traffic/traffic_options.h"

const struct rf_word caches_at_calls_words[] = {
	{"as-is", CACHES_AS_IS},
	{"cold", CACHES_COLD},
	{"warm", CACHES_WARM},
	{NULL, 0},
};
