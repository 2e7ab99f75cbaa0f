/* Rows of bandwidth: one for each level and operation, and of random access two for each level. */
#pragma once

#include "machine/roofs/roofs_run.h"

#define ROOFS_LINE_BYTES 64 /* that random access counts for a step */

/* Adds the jobs of one site. */
struct rf_error *roofs_plan_bandwidth(struct roofs_run *run, const struct roof_site *site);
/* The same with data that is all zeros. */
struct rf_error *roofs_plan_zeros(struct roofs_run *run, const struct roof_site *site);
/* The same of random access, which overwrites the numbers that the other kernels work on. */
struct rf_error *roofs_plan_random(struct roofs_run *run, const struct roof_site *site);
/* Walks by size, of a site of one thread; nothing for others.  They follow random access. */
struct rf_error *roofs_plan_sizes(struct roofs_run *run, const struct roof_site *site);
