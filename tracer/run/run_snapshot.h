/* Snapshots of the timed run (--every): the profile so far, saved while the program goes on. */
#pragma once

#include "tracer/run/run_state.h"

/* Those of one timed run.  It stays where it is. */
struct run_snapshots {
	struct run *run;
	struct profile *profile; /* of the timed run */
	struct sampler *sampler;
	uint64_t next_ns; /* when the next one is due */
	pid_t child;      /* the process that saves one now; 0: there is none */
	unsigned n, n_failed;
};

/* From now on the thread of `sampler`, which is not started yet, takes one each
 * run->options->every_s; nothing where that is 0. */
void run_snapshots_start(struct run_snapshots *snapshots, struct run *run, struct profile *profile,
			 struct sampler *sampler);
/* The sampler's thread has ended: waits until the last one is saved.  A warning says that some
 * could not be saved. */
void run_snapshots_end(struct run_snapshots *snapshots);
