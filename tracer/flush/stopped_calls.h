/* How long calls took that were stopped where they began, and stopped again where they returned.
 *
 * A thread runs from the moment at which it is switched to, behind the first stop, to that at which
 * it is switched from, at the second one: the kernel's records have both
 * (tracer/calls/switch_log.h). What of that is no time of the call, the ends of both stops, is
 * measured by stops of a thread that does nothing in between. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/calls/switch_log.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_STOPPED ((size_t)1 << 20)
#define STOPPED_NOTHING UINT32_MAX

struct stopped_call {
	uint64_t go;   /* before the thread was let go, ns */
	uint64_t stop; /* it had stopped again; 0: it did not return */
	uint32_t tid;
	uint32_t kernel; /* its row; STOPPED_NOTHING: no call, but a measurement of the stops */
};

/* Written by the tracer, in memory that both processes have. */
struct stopped_calls {
	size_t n;
	struct stopped_call items[MOST_STOPPED];
};

/* NULL: no memory. */
struct stopped_calls *stopped_calls_create(void);
void stopped_calls_destroy(struct stopped_calls *calls);

/* A thread is about to be let go into a call; the number of that, or MOST_STOPPED: there were too
 * many. */
size_t stopped_calls_add(struct stopped_calls *calls, pid_t tid, uint32_t kernel);
/* It has stopped where that call returned, and one request of ptrace was answered since: it is on
 * no processor any more. */
void stopped_calls_end(struct stopped_calls *calls, size_t number);

/* Times of all calls get into the profile (tracer/calls/call_sums.h).  Fails only when memory is
 * short. */
struct rf_error *stopped_calls_save(const struct stopped_calls *calls, struct switch_log *log,
				    struct profile *profile);
