/* What the gate asks for: translations, look-ups and leave for system calls. */
#pragma once

#include "tracer/target/target.h"

/* Fills the tables of the process area (system calls, places of code, entries). */
void requests_init(struct target *target);

/* Answers the pending request of a slot, if it has one: the thread goes on in the cache, or
 * `leaving` says how it leaves and it is stopped for that.  The lock is held by the caller. */
void requests_answer(struct target *target, int slot);
/* The same for a thread that is stopped: it is not told.  False when it must wait. */
bool requests_decide(struct target *target, int slot);
