/* `rfprof PROGRAM ARGS…`: both runs, the profile, the report. */
#pragma once

#include "base/error.h"
#include "report/report.h"
#include "tracer/pmu/pmu_plan.h"
#include "tracer/traffic/traffic_options.h"

#include <stdbool.h>

struct run_options {
	bool once, quiet, no_save, no_children;
	bool debuginfod;         /* fetch debug files that are not here */
	const char *save_path;   /* NULL: rfprof-PROGRAM.rfp */
	const char *output_path; /* the table; NULL: standard error */
	bool to_stdout;          /* the table, on standard output */
	const char *log_path;    /* rfprof's own messages; NULL: standard error */
	const char *sampler;     /* "auto", "perf", "timer" */
	struct traffic_options traffic;
	struct pmu_options counters;
	struct report_options report;
	char **argv; /* the program and its arguments, NULL-terminated */
};

/* Does it all.  *status gets the program's wait status. */
struct rf_error *run_command(const struct run_options *options, int *status);
