/* What is known of this machine and system: the facts that the doctor decides from, and nothing
 * else, so that tests can state any machine. */
#pragma once

#include "base/error.h"
#include "cache/geometry.h"
#include "tracer/launch/guard.h"
#include "tracer/perf/refusal.h"
#include "tracer/pmu/proof.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An error as plain data, since it comes out of another process. */
struct doctor_refusal {
	bool there;
	int errnum;
	char message[320], hint[320];
};
/* `error`, which is destroyed, or NULL. */
void doctor_refusal_take(struct doctor_refusal *refusal, struct rf_error *error);

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
	enum trial_stage stage; /* the one that failed */
	int errnum;
};

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
	struct guard_ending endings[N_DOCTOR_PROBES];
	/* PROBE_SYSTEM */
	char kernel[128]; /* "Linux 6.1.0 x86_64" */
	int kernel_major, kernel_minor;
	bool proc, sys;   /* are mounted */
	int ptrace_scope; /* kernel.yama.ptrace_scope, or SMALL_FILE_UNKNOWN */
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
	/* PROBE_MEMORY: the filters of rfprof itself let the counted run's calls pass */
	bool sandbox_allows;
	/* PROBE_CPU */
	bool fsgsbase;
	char no_traffic[96]; /* why nothing can be traced (trace_config.h), or "" */
	/* PROBE_CACHES */
	enum geometry_source cache_source;
	bool caches_by_cpuid; /* the operating system did not tell */
	char caches[160];
	/* PROBE_ROOFS */
	bool roofs_kept, roofs_writable;
	char roofs_path[256];
	size_t n_roofs;
	uint64_t last_cache_bytes; /* that runs simulate; 0: as reported */
};

enum { DOCTOR_RING_PAGES = 128 };

/* Reads what the kernel and its files tell.  `root` is put in front of paths ("" for the real
 * system). */
void doctor_read_system(const char *root, struct doctor_facts *facts);
/* `table`: of the processor, or NULL.  Counts loops at `place` to prove the table's events. */
void doctor_read_pmu(const struct perf_source *source, const struct event_table *table,
		     const struct proof_place *place, struct doctor_pmu *pmu);
