#include "tracer/sample_log.h"

void sampler_set_map(struct sampler *sampler, sampler_map_fn *map, void *context)
{
	sampler->map = map;
	sampler->map_context = context;
}
