/* Measures a process that runs already: where its time goes, for a while.  Nothing in it is stopped
 * or changed; threads and processes that it starts meanwhile are followed. */
#pragma once

#include "base/error.h"
#include "base/kept_store.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attached_options {
	pid_t pid;
	double duration_s;       /* 0: until the process ends, or this one is interrupted */
	bool no_children;        /* processes that it starts are not followed */
	struct kept_store *kept; /* what was read of files, or NULL */
};

enum attached_end { ATTACHED_TIME_OVER, ATTACHED_INTERRUPTED, ATTACHED_PROCESS_ENDED };

struct attached_result {
	enum attached_end end;
	double wall_s;
	size_t n_threads; /* that there were at the beginning */
};

/* The process's samples, threads, waits and modules go into the profile, with the facts that a
 * sampler leaves (timed/sampler.h).  SIGINT, SIGTERM and SIGHUP end the measurement, and not this
 * process. Errors: RF_EINPUT there is no such process; RF_EUNAVAILABLE it may not be measured. */
struct rf_error *attached_measure(const struct attached_options *options, struct profile *profile,
				  struct attached_result *result);
