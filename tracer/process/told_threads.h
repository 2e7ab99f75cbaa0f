/* Of which thread the work and the traffic of others are told, where a run has too many of both.
 *
 * What threads did is kept for each of them and each block or instruction that it ran.  A server
 * that starts a thread for each request, or a tree of many processes, would fill the memory with
 * that; so once there is much of it, new threads are told of the first one that ran the same
 * program.  Sums stay what they are. */
#pragma once

#include "base/u64_map.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct told_rows {
	uint32_t *of; /* by block: its row of counts, plus 1; 0: none yet */
	size_t n_of;
};

struct told_threads {
	struct u64_map first; /* program → the first thread that ran it */
	uint32_t *of;         /* by thread: the one that it is told of, plus 1; 0: itself */
	size_t n_of;
	size_t n_told; /* threads that are told of others */
	/* by thread: its rows of counts, of threads that others are told of */
	struct told_rows *rows_of;
	size_t n_rows_of;
};

/* A thread of the profile begins that runs `program`, any number but 0; `many`: there is enough of
 * others.  From then on it is told of the one that is returned. */
uint32_t told_threads_begin(struct told_threads *told, uint32_t thread, uint64_t program,
			    bool many);
/* The thread that `thread` is told of, mostly itself. */
static inline uint32_t told_threads_of(const struct told_threads *told, uint32_t thread)
{
	return thread < told->n_of && told->of[thread] ? told->of[thread] - 1 : thread;
}
/* Adds executions to the profile: a row of their own or, of a thread that is told of another one,
 * to that one's.  Errors: memory is short. */
struct rf_error *told_threads_count(struct told_threads *told, struct profile *profile,
				    struct profile_count count);
/* The report is to say of how many that is so. */
void told_threads_note(const struct told_threads *told, struct profile *profile);
void told_threads_deinit(struct told_threads *told);
