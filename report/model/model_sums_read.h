/* The sums that a profile has in its file. */
#pragma once

#include "report/model/model_processes.h"
#include "report/model/model_rows.h"

/* Fills the sums of the rows from the profile's tables of sums, which docs/profile-format.md
 * describes.  The profile has them, and the rows are places.  Fails only when memory is short. */
struct rf_error *model_read_sums(struct model_rows *rows, const struct model_threads *threads,
				 struct model *model);
