/* Which classes of cache sets are simulated, and when fewer have to do.
 *
 * A run begins with a sample of classes.  As long as the program's threads wait for the simulation,
 * or its checks alone would slow the program down, the sample is halved; the counts of the classes
 * that are left out then are left out, too.  Classes that an instruction keeps to (concentration.h)
 * are added to the sample, for the sake of that instruction. */
#pragma once

#include "cache/geometry.h"
#include "tracer/traffic/traffic_options.h"

#include <stdbool.h>
#include <stdint.h>

#define MAX_STAGES 8
#define MOST_ADDED 8 /* classes */

struct class_stages {
	uint64_t classes[MAX_STAGES]; /* of each stage: some of those of the stage before */
	unsigned stage, n_stages;
	uint64_t added;    /* to the sample, since some time */
	uint64_t now;      /* classes of this stage, and those added */
	uint64_t began_ns; /* when the first chunk was taken; 0: none yet */
	unsigned
		n_late; /* chunks of this stage for which their thread waited, or soon would have */
};

/* The stages for a geometry and what the command line says. */
void class_stages_init(struct class_stages *stages, const struct geometry *geometry,
		       const struct traffic_options *options);

/* The classes that are simulated at first, now, and in any case; and those now without the ones
 * that were added. */
static inline uint64_t class_stages_first(const struct class_stages *stages)
{
	return stages->classes[0];
}
static inline uint64_t class_stages_now(const struct class_stages *stages)
{
	return stages->now;
}
static inline uint64_t class_stages_sample(const struct class_stages *stages)
{
	return stages->classes[stages->stage];
}
static inline uint64_t class_stages_kept(const struct class_stages *stages)
{
	return stages->classes[stages->n_stages - 1];
}

/* Some of those at first, for what would cost too much with all: those of the last stage but one,
 * and all that have been added. */
static inline uint64_t class_stages_few(const struct class_stages *stages)
{
	return stages->classes[stages->n_stages > 1 ? stages->n_stages - 2 : 0] | stages->added;
}

/* Simulates these classes, too, from now on.  False, and nothing changes, where they would be too
 * many. */
bool class_stages_add(struct class_stages *stages, uint64_t classes);

/* A chunk of records is about to be taken; `is_late`: its thread has no other to fill.  Returns
 * whether the next stage begins with it. */
bool class_stages_advance(struct class_stages *stages, bool is_late);
