/* Measures a few rows again in a few milliseconds each, so that the roofs have a history. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"
#include "machine/topology/topology.h"

/* What was measured so short a time ago is not measured again. */
#define ROOFS_AGAIN_SECONDS 60

struct roofs_again {
	uint64_t budget_ns; /* for all of it */
	int n_idle;         /* hardware threads that nothing else uses: rows of more are left out */
};

/* Measures rows of `machine` again as far as the time goes: memory's by the most threads first,
 * which show best in which mode the machine is, then those that were measured longest ago.  The
 * results are taken into the rows (roof_take_again), and `now` is set of the rows that were
 * measured within the last ROOFS_AGAIN_SECONDS.  *n gets how many were measured. */
struct rf_error *roofs_measure_again(const struct topology *topology,
				     const struct roofs_again *again, struct machine *machine,
				     size_t *n);
