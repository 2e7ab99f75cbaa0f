/* What there is of a process before it is measured, in the form of records of perf: its threads
 * with their names and states, and what is mapped.  So the log of samples need not know that it
 * begins in the midst of a run. */
#pragma once

#include "tracer/timed/sampler.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Tells the sampler's log of these threads of a process, as of `time` (ns). */
void existing_tell(struct sampler *sampler, pid_t pid, const pid_t *tids, size_t n, uint64_t time);
/* The command line of a process as words, NULL behind the last one, in one piece to be freed; NULL:
 * it cannot be read, or memory is short. */
char **existing_command(pid_t pid);
