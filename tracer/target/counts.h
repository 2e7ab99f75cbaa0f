/* What a target has counted. */
#pragma once

#include "tracer/target/target.h"

/* Puts counts and units of a slot whose thread is gone into the profile; its counters are 0 then.
 */
void counts_collect(struct target *target, int index);
/* Adds one execution that was cut in two (n is taken for 1).  The lock is held by the caller. */
void counts_note_interruption(struct target *target, const struct interruption *cut);
/* Puts into the profile what was cut in two, and facts about the translation. */
void counts_save(struct target *target);
