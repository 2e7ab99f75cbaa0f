/* Whether what the tracer does in a process gets past the filters of system calls (seccomp) that
 * are on it.
 *
 * Containers put a filter on everything in them, rfprof too.  A process that has no other filters
 * than rfprof can do what rfprof's own child can do: so a child tries each call first.  Filters of
 * a program's own may forbid anything, and may end the process: such a program runs natively. */
#pragma once

#include <sys/types.h>

struct sandbox {
	int mode, filters; /* of rfprof itself; filters -1: the kernel does not tell (before
			      Linux 5.9) */
	int allows;        /* the calls of the tracer were tried in a child and all worked */
};

/* Reads rfprof's own filters and, where there are any, tries.  Makes a child: before other children
 * are waited for. */
void sandbox_init(struct sandbox *sandbox);
/* Why nothing may be done in a process, or NULL. */
const char *sandbox_objection(const struct sandbox *sandbox, pid_t pid);
