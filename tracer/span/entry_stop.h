/* Stops a program that is about to be started where its own code begins, once: behind its execve,
 * when the dynamic linker has mapped its libraries.  Before and after that nobody traces it. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* To be called in front of the process's release; RF_EUNAVAILABLE where it may not be traced. */
struct rf_error *entry_stop_prepare(pid_t pid);
/* A process that is traced, and stands behind its execve, goes to its entry point; false: it has
 * ended, or does not come there. */
bool entry_stop_reach(pid_t pid);
/* Behind it: has `look` called while the process stands at its entry point, and lets it go.  What
 * `look` returns ends the process, and is returned.  Where it ends before, or does not come there,
 * `look` is not called. */
struct rf_error *entry_stop_wait(pid_t pid, struct rf_error *(*look)(void *context, pid_t pid),
				 void *context);
