/* What becomes of the program when rfprof fails while it runs (base/crash.h).
 *
 * In the timed run the program is the user's own: it goes on natively, its standard streams are
 * carried on, and rfprof ends as it ends.  In a counted run it cannot go on without rfprof, and
 * before it is released it has not begun: it is ended, and rfprof ends with status 2. */
#pragma once

#include "tracer/launch/launch.h"
#include "tracer/launch/stdio_plan.h"

/* From now on the child of `launch` is ended when rfprof fails. */
void run_crash_ends_program(struct launch *launch);
/* From now on the program goes on.  *status: where its wait status will stand once it was waited
 * for; it is set to a value that stands for none. */
void run_crash_keeps_program(struct launch *launch, const struct stdio_plan *plan, int *status);
/* The program has ended. */
void run_crash_done(void);
