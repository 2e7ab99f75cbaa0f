/* `rfprof doctor`: what works here, and what each lack costs.
 *
 * Facts are gathered first, each group of them by a probe in a process of its own (guard.h): a
 * filter that ends whoever makes a system call, or a file that never answers, ends or holds up only
 * that probe.  What the facts mean is decided from them alone (checks.h), so that tests can state
 * any machine. */
#pragma once

#include "base/error.h"
#include "cache/geometry.h"
#include "tracer/perf/perf_source.h"
#include "tracer/perf/refusal.h"
#include "tracer/pmu/event_table.h"
#include "tracer/pmu/proof.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* --- facts --- */

/* An error as plain data, since it comes out of another process. */
struct doctor_refusal {
	bool there;
	int errnum;
	char message[320], hint[320];
};
void doctor_refusal_take(struct doctor_refusal *refusal,
			 struct rf_error *error); /* destroys `error` */

enum doctor_probe {
	PROBE_SYSTEM,
	PROBE_PERF,
	PROBE_TIMER,
	PROBE_PMU,
	PROBE_UNCORE,
	PROBE_RESCTRL,
	PROBE_TRACING,
	PROBE_MEMORY,
	PROBE_CPU,
	PROBE_CACHES,
	PROBE_ROOFS,
	N_DOCTOR_PROBES
};

struct doctor_ending {
	enum { PROBE_DONE, PROBE_DIED, PROBE_LATE } how;
	int signal;
};

/* How far an attempt to trace a child came, or to make memory that translated code could run in. */
enum trial_stage {
	TRIAL_DONE,
	TRIAL_FORK,
	TRIAL_SEIZE,
	TRIAL_STOP,
	TRIAL_REGISTERS,
	TRIAL_FILE,
	TRIAL_CONTENTS, /* of /proc/PID/mem */
	TRIAL_MEMFD,
	TRIAL_SIZE,
	TRIAL_WRITABLE,
	TRIAL_EXECUTABLE,
	TRIAL_RUN
};
struct doctor_trial {
	enum trial_stage stage;
	int errnum;
}; /* stage: the one that failed */

struct doctor_quantity {
	bool listed, usable;
	char why[320];
};

struct doctor_pmu {
	char table[64];                /* name of the processor's event table; "": there is none */
	struct doctor_refusal refused; /* no event of the PMU can be counted */
	unsigned general, fixed; /* counters: how many, and a bit for each of the fixed ones */
	struct doctor_quantity quantities[N_EVENT_QUANTITIES];
};

struct doctor_facts {
	struct doctor_ending endings[N_DOCTOR_PROBES];
	/* PROBE_SYSTEM */
	char kernel[128]; /* "Linux 6.1.0 x86_64" */
	int kernel_major, kernel_minor;
	bool proc, sys;   /* are mounted */
	int ptrace_scope; /* kernel.yama.ptrace_scope, or REFUSAL_UNKNOWN */
	struct refusal_facts refusal;
	uint64_t address_space; /* RLIMIT_AS, bytes; UINT64_MAX: none */
	uint64_t descriptors; /* RLIMIT_NOFILE, the hard limit, up to which rfprof goes by itself */
	int n_cpus;
	bool debuginfod_urls, debuginfod_client;
	char hypervisor[16]; /* as the processor names it, or "" */
	/* PROBE_PERF: the sampler, and the largest ring in pages that can be had for one event, of
	 * DOCTOR_RING_PAGES */
	struct doctor_refusal perf, ring;
	unsigned ring_pages;
	struct doctor_refusal timer; /* PROBE_TIMER */
	struct doctor_pmu pmu;       /* PROBE_PMU */
	/* PROBE_UNCORE: `uncore` why it cannot be counted */
	struct doctor_refusal uncore;
	unsigned n_uncore_pmus;
	bool uncore_complete; /* reads and writes */
	/* PROBE_RESCTRL */
	struct doctor_refusal resctrl;
	bool resctrl_writable;
	struct doctor_trial tracing, memory; /* PROBE_TRACING, PROBE_MEMORY */
	bool sandbox_allows; /* the filters of rfprof itself let the counted run's calls pass;
				PROBE_MEMORY */
	/* PROBE_CPU */
	bool fsgsbase;
	char no_traffic[96]; /* trace_config_objection, or "" */
	/* PROBE_CACHES */
	enum geometry_source cache_source;
	bool caches_by_cpuid; /* the operating system did not tell */
	char caches[160];
	/* PROBE_ROOFS */
	bool roofs_kept, roofs_writable;
	char roofs_path[256];
	size_t n_roofs;
};

enum { DOCTOR_RING_PAGES = 128 };

/* Runs all probes; none takes longer than `limit_ms`.  NULL when memory is short; to be freed by
 * doctor_facts_destroy. */
struct doctor_facts *doctor_facts_create(unsigned limit_ms);
void doctor_facts_destroy(struct doctor_facts *facts);

/* The probes that can be aimed.  `root` is put in front of paths ("" for the real system). */
void doctor_read_system(const char *root, struct doctor_facts *facts);
void doctor_read_pmu(const struct perf_source *source, const struct event_table *table,
		     const struct proof_place *place, struct doctor_pmu *pmu);
/* Traces a child of its own, as the counted run does a program: seizes it, stops it, reads its
 * registers and memory. */
struct doctor_trial doctor_try_tracing(void);
/* Makes a memfd, maps it writable and executable at two places, and runs a function in it. */
struct doctor_trial doctor_try_memory(void);

/* --- what they mean --- */

enum doctor_state { DOCTOR_WORKS, DOCTOR_PARTLY, DOCTOR_MISSING };
/* What a run cannot do without it. */
enum doctor_need { NEED_NOTHING, NEED_TIMES, NEED_COUNTS, NEED_TRAFFIC };

struct doctor_line {
	const char *name;
	enum doctor_state state;
	enum doctor_need need; /* of a default run, where the state is missing */
	char found[1024];
	char cost[400], next[400]; /* "" where it works */
};

enum { DOCTOR_MAX_LINES = 24 };
struct doctor_report {
	struct doctor_line lines[DOCTOR_MAX_LINES];
	size_t n;
	bool possible;       /* a full profile: times, counts and traffic */
	char missing[320];   /* names of what a default run lacks, "ptrace, BMI2"; or "" */
	char sentence[1400]; /* what `rfprof ./app` will do here */
};

/* Total: all facts have a meaning. */
void doctor_report_make(const struct doctor_facts *facts, struct doctor_report *report);
const char *doctor_state_name(enum doctor_state state); /* "works", "partly", "missing" */

/* --- how it is shown --- */

/* A table of `columns` columns (of text; below 60 it is 60), and the sentence. */
struct rf_error *doctor_print(const struct doctor_report *report, size_t columns, FILE *stream);
struct rf_error *doctor_write_json(const struct doctor_report *report, FILE *stream);
