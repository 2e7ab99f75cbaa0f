/* Which thread counts of a machine are measured, and putting measurements together. */
#pragma once

#include "machine/data/machine.h"

/* True when the machine has rows at `threads`; all rows unless `quick`. */
bool machine_has_count(const struct machine *machine, int threads, bool quick);

/* Moves what `older` has and `newer` lacks (rows at other thread counts, rows by NUMA node, the
 * notes about them) into `newer`; `older` is left to be deinitialised. */
struct rf_error *machine_merge(struct machine *newer, struct machine *older);
