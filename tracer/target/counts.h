/* What a target has counted. */
#pragma once

#include "tracer/target/target.h"

/* Takes the counts out of a slot whose thread is gone; its counters are 0 then. */
void counts_collect(struct target *target, int index);
/* Adds one execution that was cut in two (n is taken for 1).  The lock is held by the caller. */
void counts_note_interruption(struct target *target, const struct interruption *cut);
/* Puts counts and units into the profile, and facts about the translation. */
void counts_save(struct target *target);
