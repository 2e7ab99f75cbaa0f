/* Rows of compute: one for each precision, width and operation that this CPU has. */
#pragma once

#include "machine/roofs/roofs_run.h"

/* Adds the jobs of one site. */
struct rf_error *roofs_plan_compute(struct roofs_run *run, const struct roof_site *site);
