/* The counted run: runs the program under ptrace in the code cache, follows its threads and
 * children. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/launch/launch.h"
#include "tracer/traffic/traffic_options.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct counted_run; /* also the map from cache addresses to the program's, until destroyed */

/* `first_only`: the processes that the program starts run natively, untraced.  `keep_rest`:
 * processes that outlive the program go on, natively, when it has ended (the only run); else they
 * are ended with it, because their twins from the first run are the real ones. */
struct counted_run *counted_run_create(struct profile *profile, bool keep_rest, bool first_only,
				       const struct traffic_options *traffic);
/* Images that are gone are kept until the end, for counted_run_map; before it is followed. */
void counted_run_keep_images(struct counted_run *run);
/* What is measured of it; before it is followed.  Not owned. */
struct span;
void counted_run_set_span(struct counted_run *run, struct span *span);
void counted_run_destroy(struct counted_run *run);

/* Seizes the child that waits in `launch`, releases it and follows it to the end.  *status gets
 * its wait status.  Adds blocks, counts, units, threads and modules to the profile; what could not
 * be counted is in profile->uncounted.  RF_EUNAVAILABLE when ptrace is refused: the child still
 * waits then. */
struct rf_error *counted_run_follow(struct counted_run *run, struct launch *launch, int *status);

/* For sampler->map (--once): the program's address for an address in the code cache, 0 for one
 * in the gate or between, the address itself outside.  wait_sp, unless 0: the stack pointer of a
 * thread that waits in the kernel; where it waits so still, the address in the gate is that behind
 * its system call.  May be called by another thread while the run goes on.  context: struct
 * counted_run. */
uint64_t counted_run_map(void *context, pid_t tid, uint64_t address, uint64_t wait_sp);
/* What is held while the run writes to its profile. */
pthread_mutex_t *counted_run_lock(struct counted_run *run);
