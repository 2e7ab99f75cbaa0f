/* Steps of model_build, one file each. */
#pragma once

#include "report/model.h"

/* Rows while the model is built: functions, then one "unknown" row per module, then one row for
 * addresses in no module at all. */
struct model_rows {
	const struct profile *profile;
	uint32_t *order;	/* functions by (module, start) */
	struct model_function *rows;
	size_t n_rows;
};

/* Row of the code at (module, offset); *end (may be NULL) gets the offset up to which it holds. */
size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end);

/* model_count.c: blocks × counts × work. */
bool model_count(struct model_rows *rows, struct model *model);
/* model_time.c: samples → time, concurrency. */
bool model_time(struct model_rows *rows, struct model *model);
/* model_place.c: point, roof, distance, headroom, bound. */
bool model_place(const struct profile *profile, struct model_function *function, bool counted);
