/* Has threads note the blocks that they run, in bursts, and plays these to branch predictors: one
 * for each thread.  What is spent on it is bounded.  One thread at a time. */
#pragma once

#include "tracer/branches/block_burst.h"
#include "tracer/branches/outcomes.h"

struct branch_watch {
	struct branch_counts counts;
	uint64_t start_ns, spent_ns; /* when the first thread began; on the simulation */
};
void branch_watch_deinit(struct branch_watch *watch);

struct watched_thread {
	struct block_burst burst;
	struct outcome_reader reader;
	uint64_t start_ns, due_ns; /* when it began; the next burst is asked for */
	bool had_burst, is_paused;
};

/* A thread that has not run yet, which has that slot. */
void branch_watch_begin(struct branch_watch *watch, struct watched_thread *thread,
			const struct trace_config *config, uint8_t *slot);
/* From time to time, while the thread runs: takes a burst that is full, asks for one that is due.
 */
void branch_watch_look(struct branch_watch *watch, struct watched_thread *thread);
/* The thread, which is stopped outside the gate, goes on in code that notes nothing; and back. */
void branch_watch_pause(struct branch_watch *watch, struct watched_thread *thread);
void branch_watch_resume(struct branch_watch *watch, struct watched_thread *thread);
/* It runs no more: what it has noted is taken. */
void branch_watch_end(struct branch_watch *watch, struct watched_thread *thread);

/* Rows and facts for the profile.  Fails only when memory is short. */
struct rf_error *branch_watch_save(const struct branch_watch *watch, struct profile *profile);
