/* Time in calls of MPI, by what the library does there. */
#pragma once

#include "profile/profile.h"

/* Makes profile->sum_mpi from samples and waits: a sample belongs to the outermost call of MPI on
 * its stack.  `places`: of frames (function_index.h).  Fails only when memory is short. */
struct rf_error *mpi_sums_make(struct profile *profile, const uint32_t *places);
