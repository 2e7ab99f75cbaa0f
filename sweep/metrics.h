/* What the table of metrics has beside a repeat's sums ([G] Gravelle 2022, table 9): of the traced
 * repeat of a point, by kernel. */
#pragma once

#include "profile/profile.h"
#include "sweep/store.h"

/* The metrics of all kernels of a profile that was read whole, of all their calls; to be freed.
 * Those that are not known are left out.  Fails only when memory is short. */
struct rf_error *metrics_of(const struct profile *profile, struct metric **metrics, size_t *n);
