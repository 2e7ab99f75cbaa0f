/* One `rfprof PROGRAM` while it goes on: what its steps share. */
#pragma once

#include "machine/data/machine.h"
#include "profile/profile.h"
#include "tracer/launch/stdio_plan.h"
#include "tracer/pmu/pmu_plan.h"
#include "tracer/run/core_watch.h"
#include "tracer/run/run_log.h"
#include "tracer/run/run_options.h"
#include "tracer/timed/sampler.h"

#include <pthread.h>
#include <stdbool.h>

/* A wait status that no program ends with. */
enum { NO_STATUS = -1 };

struct run {
	const struct run_options *options;
	struct profile *profile;
	struct machine machine;  /* until the profile takes it, behind the runs */
	bool knows_roofs;        /* it is all there */
	struct kept_store *kept; /* what was read of files; NULL: --no-cache */
	struct stdio_plan *plan;
	struct run_log log;
	char *path;                            /* file to execute */
	const char *name;                      /* base name of the program */
	const struct sampler_ops *sampler_ops; /* chosen by run_choose_sampler */
	struct pmu_plan counters;              /* chosen by run_choose_counters */
	struct span *span;                     /* that is measured; NULL: all is */
	bool fetches;                          /* debug files are fetched after the runs */
	bool counted;                          /* there was a counted run, to its end */
	int timed_status, counted_status;      /* wait statuses of the program */
	bool started;   /* a process for the program: its streams are in use */
	bool has_ended; /* the program, with timed_status */
	uint64_t calls; /* that read and write, of the timed program (span/progress.h) */
	struct core_looks core_looks; /* beside the first timed run */
	bool goes_on;                 /* --pid: the process, behind the time that was asked for */
	bool is_snapshot;             /* this process is the copy that saves one (run_snapshot.h) */
	/* completes its profile and saves it; set with the run */
	struct rf_error *(*save_snapshot)(struct run *run);
	pthread_t cleaner; /* gives back what the counted run had */
	bool cleans;
};
