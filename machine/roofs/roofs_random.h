/* Rows of random access: two for each level. */
#pragma once

#include "machine/roofs/roofs_run.h"

/* Adds the jobs of one site. */
struct rf_error *roofs_plan_random(struct roofs_run *run, const struct roof_site *site);
