/* Which stacks are of parallel regions, and what their threads do there. */
#pragma once

#include "profile/profile.h"

enum region_part {
	REGION_NONE,
	REGION_WORK, /* in the code of a region */
	REGION_WAIT, /* of it: waits for the others of the region, or looks whether they come */
	/* the thread that began a region, in the run-time library: it waits for the others */
	REGION_CALLER,
};

/* Of each frame: what a stack that ends there is. */
struct region_frame {
	enum region_part part;
	uint32_t region; /* place (function_index.h) of the code; of REGION_CALLER not known yet */
	/* where the region was begun: a frame of the program's own; PROFILE_NONE: not known */
	uint32_t site;
};

/* Regions of OpenMP (GCC and libgomp, Clang and libomp), and those of functions that wait at
 * barriers: `barriers`, of each place.  `places`: of each frame.  To be freed; NULL: no memory. */
struct region_frame *region_frames(const struct profile *profile, const uint32_t *places,
				   const bool *barriers);
/* Whether the compiler has made the code of a place for a region, or a task of one:
 * "solve._omp_fn.0" (GCC), "solve.omp_outlined" (Clang). */
bool region_is_outlined(const struct profile *profile, uint32_t place);
