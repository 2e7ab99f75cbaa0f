/* A session of measuring: the sites, the rows to be measured there, and the visits to them. */
#pragma once

#include "machine/roofs/measure.h"
#include "machine/roofs/roofs.h"
#include "machine/topology/theory.h"

#define ARENA_HUGE_PAGE ((size_t)2 << 20)

/* Memory of one thread: huge pages where the kernel gives them, first touched by the thread that
 * uses them, or bound to a NUMA node. */
struct arena {
	char *base;    /* multiple of ARENA_HUGE_PAGE */
	size_t bytes;  /* that have been touched */
	size_t linked; /* of these, from `base` on, those whose lines are linked for random access;
			* the rows of that come last, so nothing else overwrites them */
	char *mapping;
	size_t mapped;
};

/* Where rows are measured: threads, each with its memory. */
struct roof_site {
	int n_threads, n_cores;
	struct team *team;
	struct arena *arenas; /* one a thread */
	bool by_node;         /* threads on one NUMA node, memory on one; as in struct roof */
	int cpu_node, memory_node;
};

/* A row while it is measured: what it is and the candidates that could be the fastest for it.  It
 * is visited several times, so that no spell of other load on the machine meets all its repeats. */
struct roof_job {
	struct roof row; /* all but the rates */
	const struct roof_site *site;
	double per_cycle;   /* theory: units of work in a cycle of one core; 0: not known */
	double theory;      /* theory that does not depend on the clock, in the row's unit; or 0 */
	size_t size_bytes;  /* of a walk by size, which becomes no row; else 0 */
	uint64_t repeat_ns; /* of the search */
	struct measure_task *tasks;
	size_t n_tasks;
	void *context; /* of the tasks; freed with the job, like `tasks` */
	/* Makes the data ready, before each visit: runs on the team with the job; NULL: nothing to
	 * do. */
	team_function *prepare;
	/* Checks the results of task `best`, after each visit; NULL: nothing to check. */
	struct rf_error *(*check)(const struct roof_job *job);
	struct measure_series series;
};

/* Jobs in the order in which they are measured.  Each phase overwrites the data of the one before:
 * numbers, zeros, links of random access. */
enum roof_phase { PHASE_NUMBERS, PHASE_ZEROS, PHASE_RANDOM, PHASE_SIZES, ROOF_PHASES };

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
	size_t phase_ends[ROOF_PHASES]; /* the jobs' indices behind the last of each phase */
	char **notes;
	size_t n_notes, cap_notes;
};

/* A job for `row` with room for `n_tasks` candidates and a context; rows and tasks are completed by
 * the caller, who then adds it with roofs_add_job(), which takes it over. */
struct rf_error *roofs_new_job(const struct roof_site *site, size_t n_tasks, size_t context_size,
			       struct roof_job *job);
struct rf_error *roofs_add_job(struct roofs_run *run, const struct roof_job *job);
/* Keeps a note, once. */
struct rf_error *roofs_note(struct roofs_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Tells whoever waits what is measured next. */
void roofs_progress(struct roofs_run *run, const char *what);

/* Visits one job: its data is made ready, its fastest kernel is found in the first visit, repeated
 * and checked. */
struct rf_error *roofs_visit(struct roofs_run *run, struct roof_job *job);
/* Visits `n` jobs, until `share` of the time is over. */
struct rf_error *roofs_measure_jobs(struct roofs_run *run, struct roof_job *jobs, size_t n,
				    double share);
/* The row of a job that was visited, with its rates. */
struct roof roofs_finished_row(const struct roof_job *job);
void roofs_free_jobs(struct roofs_run *run);
