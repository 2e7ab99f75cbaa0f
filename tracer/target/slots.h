/* The parts of a thread's slot that stay as they are while it is used. */
#pragma once

#include "tracer/target/target.h"

#define SLOT_TABLE_CELLS 65536 /* of SLOT_JUMPS and of SLOT_RETURNS */

/* Makes a slot ready that was never used. */
void slots_init(struct target *target, int index);
/* The slot's thread, which does not run, goes by the tables of that copy from now on. */
void slots_set_copy(struct target *target, int index, enum copy copy);
/* Whether what slots_init has set is as it was; the tables of jumps and returns change. */
bool slots_is_whole(const struct target *target, int index);
