/* Rows of bandwidth: one for each level and operation. */
#pragma once

#include "machine/roofs/roofs_run.h"

/* Adds the jobs of one site. */
struct rf_error *roofs_plan_bandwidth(struct roofs_run *run, const struct roof_site *site);
