#include "tracer/sample_log.h"

void sampler_set_first_only(struct sampler *sampler)
{
	sampler->first_only = true;
}

void sampler_set_map(struct sampler *sampler, sampler_map_fn *map, void *context)
{
	sampler->map = map;
	sampler->map_context = context;
}
