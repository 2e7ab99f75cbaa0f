/* Measures the rows of the roof table. */
#pragma once

#include "machine/data/machine.h"
#include "machine/roofs/measure.h"
#include "machine/roofs/memory_arena.h"
#include "machine/roofs/team.h"
#include "machine/topology/theory.h"
#include "machine/topology/topology.h"

/* How long to measure: see docs/roofs.md. */
struct roofs_effort {
	uint64_t repeat_ns; /* while the fastest candidate of a row is sought */
	int search_rounds;  /* over the candidates */
	/* Of the fastest candidate, in each visit; each is `stretch` times as long as when it was
	 * sought, because the clock and memory that others use too waver within milliseconds, and a
	 * roof is what lasts. */
	int repeats, stretch;
	int extra_rounds;   /* of visits to noisy rows, at most */
	uint64_t budget_ns; /* for two thread counts; visits after the first of each row end then */
};
/* All rows within 20 s on two hardware threads; the rows that reports use within 4 s. */
extern const struct roofs_effort roofs_effort_full, roofs_effort_quick;

/* What to measure. */
struct roofs_wish {
	const int *counts; /* thread counts, ascending, not more than usable_threads */
	size_t n_counts;
	bool quick; /* only the rows that reports use */
	struct roofs_effort effort;
	/* See struct machine_options. */
	void (*progress)(void *context, const char *what, int step, int n_steps);
	void *progress_context;
};

/* Where rows are measured: threads, each with its memory. */
struct roof_site {
	int n_threads, n_cores;
	struct team *team;
	struct arena *arenas; /* one a thread */
	bool by_node;         /* threads on one NUMA node, memory on one; as in struct roof */
	int cpu_node, memory_node;
};

struct roofs_run;

/* A row while it is measured: what it is and the candidates that could be the fastest for it.  It
 * is visited several times, so that no spell of other load on the machine meets all its repeats. */
struct roof_job {
	struct roof row; /* all but the rates */
	const struct roof_site *site;
	double per_cycle;   /* theory: units of work in a cycle of one core; 0: not known */
	double theory;      /* theory that does not depend on the clock, in the row's unit; or 0 */
	uint64_t repeat_ns; /* of the search */
	struct measure_task *tasks;
	size_t n_tasks;
	void *context; /* of the tasks; freed with the job, like `tasks` */
	/* Makes the data ready, before each visit; NULL: nothing to do. */
	struct rf_error *(*prepare)(struct roofs_run *run, struct roof_job *job);
	/* Checks the results of task `best`, after each visit; NULL: nothing to check. */
	struct rf_error *(*check)(const struct roof_job *job);
	struct measure_series series;
};

/* A session of measuring: what it is told, and the rows and notes that it makes. */
struct roofs_run {
	const struct topology *topology;
	const struct roofs_wish *wish;
	const struct microarchitecture *microarchitecture; /* or NULL */
	double memory_gbs; /* memory bandwidth by its data sheet, 1e9 bytes/s; 0: not known */
	uint64_t started_ns;
	int step, n_steps;

	struct roof_site *sites;
	size_t n_sites, cap_sites;
	struct arena *arenas; /* of the sites that are not by node: theirs are its first ones */
	struct roof_job *jobs;
	size_t n_jobs, cap_jobs;
	size_t n_lasting; /* the first of them: those that leave the numbers in memory alone */
	char **notes;
	size_t n_notes, cap_notes;
};

/* Measures the clock and all wished rows; sets clock_*, counts, roofs, notes and microarchitecture
 * of *machine.  On failure nothing is left allocated. */
struct rf_error *roofs_measure(const struct topology *topology, const struct roofs_wish *wish,
			       struct machine *machine);

/* Bytes that each of the first `n_threads` threads walks through to measure a cache level (1 to
 * 3), all arrays together; 0 when there is no such cache. */
uint64_t roofs_level_bytes(const struct topology *topology, int level, int n_threads);
/* The same for DRAM: 4 times the last-level caches, at least 64 MiB, over the threads. */
uint64_t roofs_dram_bytes(const struct topology *topology, int n_threads);

/* Clears `distinguishable` of the bandwidth rows that are not at least 15 % above the same
 * operation, at the same thread count, in the next level that was measured. */
void roofs_mark_levels(struct roof *roofs, size_t n_roofs);

/* ---- between the files that measure ---- */

/* A level to be measured at a site. */
struct level_size {
	enum roof_level level;
	size_t bytes; /* per thread, all arrays together */
};
#define SITE_LEVELS (TOPOLOGY_LEVELS + 1)
/* The levels of a site, innermost first; returns how many. */
size_t roofs_levels(const struct roofs_run *run, const struct roof_site *site,
		    struct level_size levels[SITE_LEVELS]);

/* Each adds the jobs of one site. */
struct rf_error *roofs_plan_compute(struct roofs_run *run, const struct roof_site *site);
struct rf_error *roofs_plan_bandwidth(struct roofs_run *run, const struct roof_site *site);
struct rf_error *roofs_plan_random(struct roofs_run *run, const struct roof_site *site);

/* Makes the sites: one for each thread count, and for each pair of NUMA nodes where there are
 * several. */
struct rf_error *roofs_make_sites(struct roofs_run *run);
void roofs_free_sites(struct roofs_run *run);

/* A job for `row` with room for `n_tasks` candidates and a context; rows and tasks are completed by
 * the caller, who then adds it with roofs_add_job(), which takes it over. */
struct rf_error *roofs_new_job(const struct roof_site *site, size_t n_tasks, size_t context_size,
			       struct roof_job *job);
struct rf_error *roofs_add_job(struct roofs_run *run, const struct roof_job *job);
/* Keeps a note, once. */
struct rf_error *roofs_note(struct roofs_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
