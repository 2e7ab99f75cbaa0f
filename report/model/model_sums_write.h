/* The sums that go into a profile's file. */
#pragma once

#include "report/model/model_rows.h"

/* Puts the sums of the rows, which are places, into the profile's tables of sums; before them the
 * profile's own are dropped.  Sets has_sums, and the facts that belong to them.  Fails only when
 * memory is short; then there are no sums. */
struct rf_error *model_write_sums(const struct model_rows *rows, const struct model *model,
				  struct profile *profile);
