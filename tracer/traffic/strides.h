/* How the addresses of each instruction follow each other, and how much of the lines that it brings
 * in from memory is used.
 *
 * Steps are learned from bursts, in which no access is left out: a step is the difference between
 * two accesses of one instruction in one thread that follow each other. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/traffic/line_sample.h"

#include <stdbool.h>
#include <stdint.h>

struct strides;
/* `used`: the lines whose use is followed.  `lines`: how many of them the last cache holds. */
struct strides *strides_create(const struct line_sample *used, uint64_t lines);
void strides_destroy(struct strides *strides);

/* The instruction and thread `who` (any small number) accesses `bytes` from `address` on; in the
 * order of its execution.  Loads and stores of one instruction are told apart.  Between two with
 * different `burst` there may have been others that were not told. */
void strides_note(struct strides *strides, uint32_t who, bool store, uint32_t burst,
		  uint64_t address, uint32_t bytes);

/* The thread of `who` has ended: of its walks only what was found is kept.  If there is more after
 * all, it is a walk of its own, added to these. */
void strides_end(struct strides *strides, uint32_t who);

/* `who` brings a line in from memory: what is touched of it from now on is used, until it is
 * brought in once more, or twice as many lines as the last cache holds have been since, or the end
 * comes.  `line` may have bits that tell address spaces apart. */
void strides_fetched(struct strides *strides, uint64_t line, uint32_t who);
/* Anybody touches the bytes of a line whose bits are set.  Those of lines that nobody has brought
 * in, or that are not followed, are ignored, here and there. */
void strides_touched(struct strides *strides, uint64_t line, uint64_t bytes);

/* What was found for one `who`. */
struct stride_counts {
	/* Steps: by the width of the access, by another constant, others. */
	uint64_t unit, constant, random;
	int64_t step;             /* bytes, the most frequent constant one, unit or not; 0: none */
	uint64_t fetched, used;   /* bytes */
	uint64_t looked, crossed; /* accesses that were noted, and of these those of two lines */
};
struct stride_counts strides_counts(const struct strides *strides, uint32_t who);

/* Adds a row for each instruction, and one for each that has accesses that cross a line.  `place`
 * gives the instruction of a `who`.  Lines that are still in the caches count as if they left now.
 * Errors: memory is short. */
struct rf_error *strides_save(struct strides *strides, struct profile *profile,
			      void (*place)(void *context, uint32_t who, uint32_t *module,
					    uint64_t *offset),
			      void *context);
