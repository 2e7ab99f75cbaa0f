/* Which instructions keep to few classes of cache sets.
 *
 * A sample of classes tells what moves as far as it moves in all classes alike.  An instruction
 * whose addresses are a large power of two apart meets few classes; if none of them is in the
 * sample, its traffic looks like none.  In bursts (tracer/gate/protocol.h) all accesses are seen.
 * Here it is counted by classes which of them a first level of these sets would have missed; hits
 * move nothing.  So it is known which classes a sample must not stand for (concentration_heavy),
 * how often an instruction misses in them (concentration_rate), and which of those that an
 * instruction keeps to ought to be simulated as well (concentration_wants).
 *
 * Of the copies of an unrolled loop each keeps to few classes, and together they keep to none:
 * these are not meant. */
#pragma once

#include "cache/geometry.h"

#include <stdbool.h>
#include <stdint.h>

/* The first level of one core, for bursts only. */
struct burst_cache {
	uint64_t *lines; /* of each set its ways, the last used first; number plus 1, and whether it
			  * was changed */
	uint64_t sets;
	unsigned ways;
};
/* Empty.  False when memory is short. */
bool burst_cache_init(struct burst_cache *cache, const struct geometry *geometry);
void burst_cache_deinit(struct burst_cache *cache);
/* Whether a line, by its number, was not in it; it is from now on.  *changed: whether it is stored
 * to for the first time since, and so will be written back. */
bool burst_cache_misses(struct burst_cache *cache, uint64_t line, bool stores, bool *changed);

struct concentration;
/* NULL when memory is short. */
struct concentration *concentration_create(void);
void concentration_destroy(struct concentration *concentration);

/* In a burst an operand of `who` was executed; or missed a line. */
struct burst_access {
	uint32_t who;
	uint64_t place;     /* module and offset of the instruction */
	uint64_t burst;     /* another number for each burst of each thread */
	double weight;      /* of the burst: the time for which it stands; above 0 */
	uint8_t n_operands; /* struct trace_operand */
	bool stores;        /* the operand is stored to, through the caches */
};
/* Counts an execution of one of its operands, with all of its lanes.  When memory is short nothing
 * is counted. */
void concentration_note(struct concentration *concentration, const struct burst_access *access);
/* A line that an operand moves. */
struct burst_miss {
	unsigned class;
	bool written;   /* it was changed, and will be written back; else it was missed */
	bool simulated; /* its class is */
};
/* The same operand moves a line. */
void concentration_miss(struct concentration *concentration, const struct burst_access *access,
			struct burst_miss miss);

/* A class that ought to be simulated as well, because an instruction with a good share of all
 * misses keeps to few classes and too few of these are simulated; or -1.  To be asked at the end of
 * a burst; of `sampled` classes it is known that they meet strides of up to so many lines. */
int concentration_wants(struct concentration *concentration, uint64_t simulated, unsigned sampled);

/* The classes of which each has so much of an instruction's misses that a sample of so many
 * classes must not stand for it: they are told apart from all others.  Of an instruction that keeps
 * to few classes, all of these.  0: there are none.  `unsampled`: it has no events in any simulated
 * class, so that little has to be known not to tell nothing of it. */
uint64_t concentration_heavy(const struct concentration *concentration, uint32_t who,
			     unsigned sampled, bool unsampled);

/* What an instruction misses in some classes. */
struct miss_rate {
	double written;      /* of these lines: those that it changes, and that are written back */
	double of_execution; /* misses for each execution; 0: none is known */
	double halfwidth;    /* of that, relative to it; 95 %; 1 at the most */
	double before;       /* part of it, 0 to 1: in bursts before these classes were simulated */
};
struct miss_rate concentration_rate(const struct concentration *concentration, uint32_t who,
				    uint64_t classes);
