/* Of what was seen of shared lines (sharing.h) and what the counts of code say: how many accesses
 * each instruction of each thread has made to them, and how often a line can have moved.
 *
 * An instruction whose address is constant has made as many as it was executed.  Of others a share
 * of the accesses in bursts went to the line, and the same share of all its executions is told,
 * with an interval; where it was all of them, this is again the number of executions, less at most
 * 3 in so many as were seen. */
#pragma once

#include "base/error.h"
#include "tracer/traffic/sharing.h"

/* Fewer moves, at most, than these are nothing to be told. */
#define SHARING_LEAST 100
/* Lines that are kept, those that may have moved most; and places of each, those with most
 * accesses. */
#define SHARING_KEPT PROFILE_SHARED_LINES
#define SHARING_PLACES PROFILE_SHARED_PLACES

/* What one instruction of one thread did to a line. */
struct sharing_place {
	uint32_t module, thread; /* rows of the profile */
	uint64_t offset;
	uint64_t loaded, stored;        /* bit k: byte k of the line */
	double accesses, loads, stores; /* one that does both is one access */
	double halfwidth;               /* of `accesses`, 95 %; 0: they are exact */
	struct data_place place;        /* of its lowest byte */
};

struct shared_line {
	uint32_t space;
	uint64_t line; /* number */
	struct sharing_place *places;
	size_t n_places, cap_places; /* more than SHARING_PLACES only before the end */
	double accesses, halfwidth;  /* of all places, those that are not kept, too */
	/* How often the line can have gone from one thread to another: an access of a thread to a
	 * line that another one has stored to since its own last access.  No order of the accesses
	 * makes more of them. */
	double transfers_at_most;
	double true_at_most; /* the same of accesses to bytes that another thread stores to */
	uint64_t turns;      /* so many were seen */
	double mixed;        /* sharing_mixed */
};
/* Whether most of what may have moved is due to bytes that several threads use. */
static inline bool shared_line_is_true(const struct shared_line *line)
{
	return 2 * line->true_at_most >= line->transfers_at_most;
}

/* What is asked of the run. */
struct sharing_run {
	void *context;
	/* The instruction of an account. */
	void (*instruction)(void *context, uint32_t who, uint32_t *module, uint64_t *offset);
	/* How often a thread has executed it. */
	double (*executions)(void *context, uint32_t thread, uint32_t module, uint64_t offset);
	/* The run-time address of a module of the profile less its offsets; false: not known. */
	bool (*bias)(void *context, uint32_t space, uint32_t module, uint64_t *bias);
	sharing_locate *locate;
};

struct shared_lines {
	struct shared_line *items; /* that may have moved most come first */
	size_t n_items, cap_items;
};
/* Errors: memory is short; then there is nothing to destroy. */
struct rf_error *shared_lines_find(const struct sharing *sharing, const struct profile *profile,
				   const struct sharing_run *run, struct shared_lines *out);
void shared_lines_deinit(struct shared_lines *lines);

/* Sets what follows from the places of a line: accesses, transfers_at_most, true_at_most.
 * `threads`: their lives; threads that have not lived at the same time took the line once. */
void shared_line_sum(struct shared_line *line, const struct sharing_thread *threads,
		     size_t n_threads);
