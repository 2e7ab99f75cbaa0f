/* What a target has counted. */
#pragma once

#include "tracer/target/target.h"

/* Counts the result of the system call that the thread of a slot has come back from, where its
 * translated code will not. */
void counts_note_result(uint8_t *slot, uint64_t result);
/* Puts counts and units of a slot whose thread is gone into the profile; its counters are 0 then.
 */
void counts_collect(struct target *target, int index);
/* Adds one execution that was cut in two (n is taken for 1).  The lock is held by the caller. */
void counts_note_interruption(struct target *target, const struct interruption *cut);
/* Puts into the profile what was cut in two, and facts about the translation. */
void counts_save(struct target *target);
