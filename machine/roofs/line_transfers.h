/* What it costs to move a line from one core to another. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"
#include "machine/topology/topology.h"

/* Measures each way that there is, for some 50 ms: two pinned threads that store to a line in
 * turns.  Where two threads cannot run at the same time nothing is measured: machine->n_transfers
 * is 0 then.  Errors: memory is short, or threads cannot be started. */
struct rf_error *line_transfers_measure(const struct topology *topology, struct machine *machine);
