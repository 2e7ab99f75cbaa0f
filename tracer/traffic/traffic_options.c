/* The words of options that say how traffic is traced. */
#include "tracer/traffic/traffic_options.h"

#include <stdlib.h>

#define MOST_TLB_PAGES 1048576

const struct rf_word caches_at_calls_words[] = {
	{"as-is", CACHES_AS_IS},
	{"cold", CACHES_COLD},
	{"warm", CACHES_WARM},
	{NULL, 0},
};

bool tlb_pages_parse(const char *text, uint32_t pages[2])
{
	char *end, *last = NULL;
	const long near = strtol(text, &end, 10);
	const long far = *end == ':' ? strtol(end + 1, &last, 10) : 0;
	if (!last || *last || near < 1 || far <= near || far > MOST_TLB_PAGES)
		return false;
	pages[0] = (uint32_t)near;
	pages[1] = (uint32_t)far;
	return true;
}
