/* Traced accesses in lockstep: what translated code has recorded, compared with what a plain
 * interpreter of operands says of each step of the reference. */
#pragma once

#include "tests/unit/tracer/translate/lockstep.h"

#include "tracer/translate/trace_config.h"

/* Puts the gate's routine for records where translated code finds it. */
void lockstep_trace_place_gate(struct lockstep *lockstep);

/* Before a run: an empty ring; the translator traces when lockstep->trace_classes is not 0. */
void lockstep_trace_begin(struct lockstep *lockstep);

/* Compares the accesses of the reference's steps before `at` with those in the ring.  `last`, if
 * not NULL: a block that a fault has cut short: what its instructions access is left out.  False
 * with a failure. */
bool lockstep_trace_compare(struct lockstep *lockstep, size_t at, const struct code_block *last);
