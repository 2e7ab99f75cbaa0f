/* Timed run: samples of the CPU time of all threads and children, behind one table of functions.
 * Backends: sampler_perf (cpu-clock through perf_event_open), sampler_timer (per-thread CPU timers
 * in the preloaded shim, where perf_event_open is refused). */
#pragma once

#include "base/error.h"
#include "base/kept_store.h"
#include "profile/profile.h"
#include "tracer/timed/usage.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sampler;

struct sampler_ops {
	const char *name; /* goes into the fact "time_source" */
	/* Proves that the backend works here (opens and closes an event); EUNAVAILABLE with the
	 * reason and what to do about it otherwise. */
	struct rf_error *(*probe)(void);
	/* Environment for the child: may add or change strings (sampler_timer: LD_PRELOAD with the
	 * shim prepended to what is there).  `envp` is NULL-terminated; returns a new array whose
	 * strings live as long as the sampler, or NULL for "unchanged".  NULL: it needs none. */
	char **(*environment)(struct sampler *sampler, char **envp);
	/* `pid` is forked and waits before its execve; sampling starts at the execve (sampler_perf:
	 * enable_on_exec, inherit).  Starts a reader thread of its own. */
	struct rf_error *(*start)(struct sampler *sampler, pid_t pid);
	/* After the program has ended: stops, drains, unwinds; the profile has threads, frames,
	 * samples, modules and the facts time_source, lost_samples, sample_period_ns then. */
	struct rf_error *(*finish)(struct sampler *sampler);
	/* In a copy of the process, made by `look`: as finish, of what came up to sampler->end_ns,
	 * while the program and the sampler that was copied go on.  NULL: cannot be done. */
	struct rf_error *(*snapshot)(struct sampler *sampler);
	void (*destroy)(struct sampler *sampler);
	/* `profile` is filled, in part already while the program runs; `kept`: what was read of
	 * files, or NULL. */
	struct sampler *(*create)(struct profile *profile, struct kept_store *kept);
};

extern const struct sampler_ops sampler_perf, sampler_timer;

/* For a counted run with --once: where sample addresses lie in rfprof's code cache, `map` gives
 * the program's own address (0: unknown, drop the frame), and where a thread waits in the kernel
 * with its stack pointer at `wait_sp`, that behind its system call.  Set before start. */
typedef uint64_t sampler_map_fn(void *context, pid_t tid, uint64_t address, uint64_t wait_sp);

/* Samples of hardware counters (pmu/counters.h) beside those of time: the sampler's thread calls
 * `drain` each 10 ms, and finish calls it a last time; it hands what it has to sample_log_counter.
 * sampler_perf only.  Set before start. */
struct sample_log;
typedef void sampler_drain_fn(void *context, struct sampler *sampler);
/* The thread that reads samples calls it some times a second: all that was written before `now` is
 * in the log.  Backends with a `snapshot` only.  Set before start. */
typedef void sampler_look_fn(void *context, uint64_t now);
enum { SAMPLER_CPUS = 4096 }; /* those of higher numbers are not told in ran_on */
/* What each backend's own struct begins with.  Callers set the first of it before start. */
struct sampler {
	sampler_map_fn *map;
	void *map_context;
	pthread_mutex_t
		*lock; /* of the profile, where others write to it during the run; or NULL */
	sampler_drain_fn *drain;
	void *drain_context;
	sampler_look_fn *look; /* or NULL */
	void *look_context;
	struct span *span; /* that is measured; NULL: all is */
	/* Whether a thread of a process that is at an address does something for rfprof
	 * (tracer/flush): its time is then that of a module of its own.  `in_kernel`: it is stopped
	 * there, or in the kernel.  NULL: none does. */
	bool (*is_ours)(const void *context, uint32_t pid, uint64_t address, bool in_kernel);
	const void *ours_context;
	struct breakpoints *breakpoints; /* that tell of it; or NULL */
	bool tells_switches;             /* there are records of all switches between threads */
	/* A counter has samples of a software event.  The kernel describes a fault to all events by
	 * one record: where two of them take a sample of it, one is lost. */
	bool skips_faults;
	bool skips_kernel; /* ticks in the kernel are not told; waits are looked at instead */
	/* when the program was let go, before its execve, and when its end was seen; 0: not known
	 */
	uint64_t release_ns, end_ns;
	struct usage usage; /* of the program, at both times */
	uint64_t n_faults;  /* page faults, with those that were not sampled; 0: not known */
	/* A bit for each processor that had samples since core_watch looked. */
	uint64_t ran_on[SAMPLER_CPUS / 64];
	bool first_only; /* --no-children: the processes that the program starts are not sampled */
	/* Of the backends. */
	struct profile *profile;
	pid_t first_pid;
	uint32_t only_pid; /* records of other processes are left out; 0: none is */
	struct sample_log *log;
	int stop; /* readable: the reader ends */
	bool reading;
	pthread_t reader;
};

/* Makes the log; false: no memory. */
bool sampler_init(struct sampler *sampler, struct profile *profile, struct kept_store *kept);
/* Starts the thread that reads until `stop` is readable; of all processes, or with first_only of
 * `pid` alone. */
struct rf_error *sampler_start_reader(struct sampler *sampler, pid_t pid, void *(*run)(void *));
/* There was a sample on that processor. */
void sampler_ran_on(struct sampler *sampler, int cpu);
void sampler_stop_reader(struct sampler *sampler);
/* Stops the reader and frees the log. */
void sampler_deinit(struct sampler *sampler);
