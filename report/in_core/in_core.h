/* What one turn of a loop takes in the core while all its data are in L1: the in-core part of the
 * ECM model (Hofmann et al. 2019, section 2), from the instructions that were executed and from
 * what forms of instructions take on this machine (machine/data/core_facts.h).  All times are
 * cycles a turn of the loop's header. */
#pragma once

#include "machine/data/core_facts.h"
#include "report/in_core/core_code.h"

/* What may bind a turn of those things that overlap with transfers. */
enum in_core_part {
	IN_CORE_ISSUE,   /* instructions over the width of the core's narrowest stage */
	IN_CORE_UNITS,   /* the group of execution units that is busiest */
	IN_CORE_DIVIDER, /* divisions and square roots */
	IN_CORE_FETCH,   /* taken branches, and lines of code between them */
	IN_CORE_CHAIN,   /* the longest recurrence from turn to turn through registers and memory */
	IN_CORE_PARTS
};

/* What a loop calls. */
enum in_core_calls {
	CALLS_NONE,    /* nothing that counts */
	CALLS_LONG,    /* what has next to nothing under way together with it */
	CALLS_JOINED,  /* short functions, which the figures are with */
	CALLS_UNKNOWN, /* short functions, or who knows what, that cannot be followed: what the loop
			* takes beside these cannot be told */
};

/* A function that a loop calls. */
struct joined_function {
	uint32_t row;        /* in profile->functions */
	double share;        /* of its executions those for the loop */
	double instructions; /* of the function, executed for the loop */
};

#define MOST_JOINED 8
struct in_core {
	double part[IN_CORE_PARTS];
	/* The longest of the parts; for the chain: what is left of it where the loop is left before
	 * the reorder buffer is full. */
	double t_ol;
	/* Loads, stores and their addresses, over the units for these. */
	double t_nol;
	/* Both at the rates that the core had left while the program ran (core_facts.left). */
	double shared_ol, shared_nol;
	/* part[IN_CORE_CHAIN] before that correction. */
	double lcd;
	/* Cycles of each load that the chain goes through by its address, while its data are in L1;
	 * NAN: it goes through none, or it is no innermost loop. */
	double chained_load;
	/* By which mispredicted branches take longer than the one that was measured, for what
	 * decides them is known later (branch_waits.h). */
	double branch_waits;
	/* Instructions of the loop that are under way at most: as many as there are registers, and
	 * places for loads and stores, for; INFINITY: not known. */
	double under_way;
	/* Share of the executed instructions, 0 to 1, of forms that nobody has measured or tabled:
	 * they count as one slot of issue and the latency of an addition. */
	double unknown;
	enum in_core_calls calls;
	struct joined_function joined[MOST_JOINED]; /* where it is CALLS_JOINED */
	size_t n_joined;
};

/* In words: "instructions", "execution units", ... */
const char *in_core_part_name(enum in_core_part part);

/* The facts about the recording machine's core that the
 * profile has; none where it is older than these or they could not be measured (core_facts_known).
 * The caller deinitialises them. */
struct rf_error *in_core_facts(const struct profile *profile, struct core_facts *facts);

/* One turn of the function's loop number `loop` (in
 * function->loops), on average, with the loops within: how often each instruction was executed over
 * how often the header was.  The chain is that of the most frequent way through an innermost loop;
 * of a loop around others, theirs, one behind the other.  Where no facts are known all is 0 and
 * `unknown` 1.  Fails only when memory is short.
 */
struct rf_error *in_core_of_loop(const struct core_facts *facts, const struct in_core_code *code,
				 uint32_t loop, struct in_core *out);
