/* Some of the lines that are simulated: those of which more is to be known than caches need. */
#pragma once

#include "cache/geometry.h"
#include "tracer/gate/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct line_sample {
	uint64_t classes; /* bit k: class k has some */
	/* The bits of FULL_FACTOR times a line's number that are 0 in lines of the sample; none:
	 * all lines of the classes are in it. */
	uint32_t bits;
};

/* `line`: its number; bits above the lower 32 do not matter. */
static inline bool line_sample_has(const struct line_sample *sample, uint64_t line)
{
	return sample->classes >> line % CACHE_CLASSES & 1 &&
	       !((uint32_t)line * FULL_FACTOR & sample->bits);
}

/* One in how many lines of its classes is in the sample. */
static inline unsigned line_sample_one_in(const struct line_sample *sample)
{
	return 1u << __builtin_popcount(sample->bits);
}
