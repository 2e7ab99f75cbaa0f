/* Whether what the tracer does in a process gets past the filters of system calls (seccomp) that
 * are on it.
 *
 * Containers put a filter on everything in them, rfprof too.  A process that has no other filters
 * than rfprof can do what rfprof's own child can do: so a child tries each call first.  Filters of
 * a program's own may forbid anything, and may end the process: such a program runs natively. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct sandbox {
	int mode, filters; /* of rfprof itself; filters -1: Linux before 5.9 does not tell */
	bool allows;       /* the calls of the tracer were tried in a child and all worked */
};

/* Reads rfprof's own filters and, where there are any, tries.  Makes a child: before other children
 * are waited for. */
void sandbox_init(struct sandbox *sandbox);
/* Whether anything may be done in a process; RF_EUNAVAILABLE says why not. */
struct rf_error *sandbox_check(const struct sandbox *sandbox, pid_t pid);
