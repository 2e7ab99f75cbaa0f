/* The core's clock, measured. */
#pragma once

#include "base/error.h"
#include "machine/measure.h"
#include "machine/team.h"

/* Clock in GHz of the team's cores (mean over its threads) while they run a chain of dependent
 * register-register adds, which is one cycle each on every x86-64 core.  (Adds of an immediate
 * will not do: Intel's Golden Cove folds chains of them at rename.) */
struct rf_error *clock_measure(struct team *team, const struct measure_effort *effort,
			       double *ghz);
