/* System calls that are looked at before they run. */
#pragma once

#include "tracer/target/target.h"

/* Fills the table by which the gate knows what to do about each system call. */
void watched_calls_init(struct target *target);
/* Whether that table is as it was filled. */
bool watched_calls_are_whole(const struct target *target);

/* Looks at the call that a slot's thread asks about: its arguments may be changed, the target given
 * up, `leaving` say how the thread leaves.  True when the call has its result (SAVE_RAX) and does
 * not run. */
bool watched_calls_look(struct target *target, int index, uint64_t number);

/* Calls that change code: what those that have run since have changed is looked at anew. */
void watched_calls_note_changes(struct target *target);
/* Whether one is about to change code near pc, so that nothing there may be translated now. */
bool watched_calls_is_changing(const struct target *target, uint64_t pc);
