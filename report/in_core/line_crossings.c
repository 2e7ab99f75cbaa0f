/* Finds the share of each instruction, of all images that the profile has rows of. */
#include "report/in_core/line_crossings.h"

#include <math.h>

#define WHOLE 1e9

static uint64_t key_of(uint32_t module, uint64_t offset)
{
	return (((uint64_t)module << 48) ^ offset) + 1;
}

struct rf_error *line_crossings_init(const struct profile *profile,
				     struct line_crossings *crossings)
{
	*crossings = (struct line_crossings){0};
	for (size_t i = 0; i < profile->n_crossings; i++) {
		const struct profile_crossing *row = &profile->crossings[i];
		const uint64_t key = key_of(row->module, row->offset);
		const double looked = (double)row->looked, crossed = (double)row->crossed;
		const double share = looked > 0 ? fmin(1, crossed / looked) : 0;
		const uint32_t *known = u64_map_find(&crossings->shares, key);
		/* of several images: the largest, as they have the same code and other data */
		const double most = fmax(share, known ? *known / WHOLE : 0);
		if (key && !u64_map_set(&crossings->shares, key, (uint32_t)(most * WHOLE)))
			return rf_error_no_memory();
	}
	return NULL;
}

void line_crossings_deinit(struct line_crossings *crossings)
{
	u64_map_deinit(&crossings->shares);
}

double line_crossings_share(const struct line_crossings *crossings, uint32_t module,
			    uint64_t offset)
{
	const uint64_t key = key_of(module, offset);
	const uint32_t *share = crossings && key ? u64_map_find(&crossings->shares, key) : NULL;
	return share ? *share / WHOLE : 0;
}
