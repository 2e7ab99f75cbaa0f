/* Counted work, by row. */
#pragma once

#include "report/model/model_rows.h"

/* Sums up the profile's blocks: each row's tally and threads.  Sets model->unreadable_blocks and
 * model->unmatched_units.  Fails only when memory is short. */
struct rf_error *model_count(struct model_rows *rows, struct model *model);

/* The rows of profile->units by (module, offset), to be freed; NULL when memory is short.  And the
 * first of them that is at or behind a place. */
uint32_t *model_units_by_place(const struct profile *profile);
size_t model_first_units(const struct profile *profile, const uint32_t *order, uint32_t module,
			 uint64_t offset);
