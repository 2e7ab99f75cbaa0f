/* Whether the memory that a target and the tracer share still holds what was put there.  A program
 * can find it (/proc/self/maps) and write to it; what its threads had there is lost then. */
#pragma once

#include "tracer/target/target.h"

/* Whether the parts have been written over that nobody writes to once they are set up, or that tell
 * the gate where to go.  The lock is held by the caller. */
bool watchdog_is_overwritten(const struct target *target);
/* Whether that is why the thread of `tid` has faulted at pc.  Where it has jumped out of the cache
 * its tables of jumps and returns are looked at, too. */
bool watchdog_explains_fault(const struct target *target, pid_t tid, uint64_t pc);
/* Ends the process, which cannot go on, and says why in the profile.  The lock is held by the
 * caller. */
void watchdog_end(struct target *target);
