/* Which instructions keep to few classes of cache sets.
 *
 * A sample of classes tells what moves as far as it moves in all classes alike.  An instruction
 * whose addresses are a large power of two apart meets few classes; if none of them is in the
 * sample, its traffic looks like none.  In bursts (tracer/gate/protocol.h) all accesses are seen.
 * Here it is counted by classes which of them a first level of these sets would have missed; hits
 * move nothing. What is found has two uses: classes that matter to such an instruction are
 * simulated as well, and its events are scaled by the share of its misses that lie in simulated
 * classes, not by their number. */
#pragma once

#include "cache/geometry.h"

#include <stdbool.h>
#include <stdint.h>

/* The first level of one core, for bursts only. */
struct burst_cache {
	uint64_t *lines; /* of each set its ways, the last used first; number plus 1 */
	uint64_t sets;
	unsigned ways;
};
/* Empty.  False when memory is short. */
bool burst_cache_init(struct burst_cache *cache, const struct geometry *geometry);
void burst_cache_deinit(struct burst_cache *cache);
/* Whether a line, by its number, was not in it; it is from now on. */
bool burst_cache_misses(struct burst_cache *cache, uint64_t line);

struct concentration;
/* NULL when memory is short. */
struct concentration *concentration_create(void);
void concentration_destroy(struct concentration *concentration);

/* An access of a burst. */
struct burst_access {
	uint32_t who;
	uint64_t burst; /* another number for each burst of each thread */
	uint8_t class;
	uint8_t n_operands; /* struct trace_operand */
	bool missed;
};
/* Counts it.  When memory is short nothing is counted. */
void concentration_note(struct concentration *concentration, const struct burst_access *access);

/* A class that ought to be simulated as well, because an instruction with a good share of all
 * misses keeps to few classes and too few of these are simulated; or -1.  To be asked at the end of
 * a burst; of `sampled` classes it is known that they meet strides of up to so many lines. */
int concentration_wants(struct concentration *concentration, uint64_t simulated, unsigned sampled);

/* What is known of an instruction that keeps to few classes. */
struct miss_rate {
	bool concentrated; /* false: it does not, or too little is known */
	/* Misses for each execution, or NAN where an execution makes no fixed number of accesses.
	 */
	double of_execution;
	double halfwidth; /* of that, relative to it; 95 %; 1 at the most */
};
/* `sampled`: as above. */
struct miss_rate concentration_rate(const struct concentration *concentration, uint32_t who,
				    unsigned sampled);
