/* What the gate asks for: translations, look-ups and leave for system calls; and the thread that
 * answers one target's gate. */
#pragma once

#include "tracer/target/target.h"

/* Fills the tables of the process area (system calls, places of code, entries). */
void requests_init(struct target *target);

/* Answers the pending request of a slot, if it has one: the thread goes on in the cache, or
 * `leaving` says how it leaves and it is stopped for that.  The lock is held by the caller. */
void requests_answer(struct target *target, int slot);
/* The same for a thread that is stopped: it is not told.  False when it must wait. */
bool requests_decide(struct target *target, int slot);

/* The thread is there, or no request will ever be answered. */
struct rf_error *server_start(struct target *target);
/* Nothing where it does not run. */
void server_stop(struct target *target);
/* Something has become due at another time (stop_at). */
void server_wake(struct target *target);
