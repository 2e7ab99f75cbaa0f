/* What is asked of `rfprof PROGRAM`, but for its report. */
#pragma once

#include "base/words.h"
#include "ranks/rank.h"
#include "tracer/pmu/pmu_plan.h"
#include "tracer/span/span.h"
#include "tracer/traffic/traffic_options.h"

#include <stdbool.h>
#include <sys/types.h>

enum sampler_option { SAMPLER_AUTO, SAMPLER_PERF, SAMPLER_TIMER }; /* --sampler= */

/* --run=; which of the two runs there are */
enum run_kind { RUN_KIND_BOTH, RUN_KIND_TIME, RUN_KIND_COUNT };

extern const struct rf_word sampler_option_words[], run_kind_words[];

struct run;

struct run_options {
	bool once, quiet, no_children;
	enum run_kind kind;
	const struct rank *rank; /* not NULL; rank->known: as one rank of a job */
	unsigned repeat;         /* timed runs, at least 1 */
	bool debuginfod;         /* fetch debug files that are not here */
	bool keep_roofs;         /* measure none again behind the run */
	bool no_source;          /* keep no source text */
	bool no_cache;           /* read all names anew, and keep none */
	const char *log_path;    /* rfprof's own messages; NULL: standard error */
	enum sampler_option sampler;
	double every_s; /* a snapshot of the timed run each so many s; 0: none */
	/* Saves one, whose profile is complete, in a process of its own.  `context` is the
	 * caller's. */
	struct rf_error *(*save_snapshot)(void *context, struct run *run);
	void *snapshot_context;
	struct span_options span; /* the part of the run that is measured */
	struct traffic_options traffic;
	struct pmu_options counters;
	pid_t pid;   /* of a process that runs already, whose command is argv; 0: none */
	char **argv; /* the program and its arguments, NULL-terminated */
};
