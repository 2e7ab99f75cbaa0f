/* What callers set of a sampler before it starts, whatever its backend. */
#include "tracer/timed/sampler.h"

void sampler_set_first_only(struct sampler *sampler)
{
	sampler->first_only = true;
}

void sampler_set_map(struct sampler *sampler, sampler_map_fn *map, void *context)
{
	sampler->map = map;
	sampler->map_context = context;
}

void sampler_set_drain(struct sampler *sampler, sampler_drain_fn *drain, void *context)
{
	sampler->drain = drain;
	sampler->drain_context = context;
}
