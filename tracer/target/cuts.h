/* Where the counts of a counted run are cut into slices (span/span.h): at the entry and the return
 * of functions, and by the clock.
 *
 * The thread whose event begins a slice is in the gate then, so that its counts are exact.  All
 * others are stopped and stepped to where their registers are the program's, as for a change of
 * copies; one that is in a system call is cut as it is, since it counts nothing there. */
#pragma once

#include "tracer/target/target.h"

/* The target belongs to a run with a span, NULL: to none; before its first instruction. */
void cuts_init(struct target *target, struct span *span);

/* Has threads that still fill an earlier slice cut.  Of the server's thread. */
void cuts_ask(struct target *target);
/* ns until there may be something to ask. */
uint64_t cuts_patience(const struct target *target, uint64_t now);

/* Whether the slot's thread still fills an earlier slice.  The lock is held by the caller of this
 * and of what follows. */
bool cuts_is_due(const struct target *target, int slot);
/* What the slot's thread has counted is of the slice that it fills; from now on it fills that of
 * the run.  The thread has the program's registers, or waits in the gate. */
void cuts_here(struct target *target, int slot);

/* The slot's thread asks for code at pc: an event of the span may be that. */
void cuts_on_transfer(struct target *target, int slot, uint32_t type, uint64_t pc);
/* Whether the way of a return to pc is to lead through the gate each time. */
bool cuts_holds(const struct target *target, uint64_t key);
