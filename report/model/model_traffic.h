/* What moved between the levels of the memory hierarchy, of one function: from lines in the
 * simulated classes of sets, or from samples of hardware counters, to bytes with their uncertainty,
 * to intensities and roofs at every level. */
#pragma once

#include "cache/traffic.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_LEVELS 4 /* at most: L1, L2, L3, DRAM */

/* Above this many flop per byte of a level its bytes do not matter. */
#define MODEL_IN_CACHE 1e4

/* Of an estimate from a sample: no finer is it told.  Classes of a sweep are so alike that a few of
 * them may show no spread at all, while others have a line more: of a number of lines that is small
 * for what large caches hold. */
#define MODEL_RESOLUTION 0.005

/* Which of the bytes at a level are looked at: all, those that come from it, those that go to it.
 */
enum traffic_direction { DIRECTION_BOTH, DIRECTION_READ, DIRECTION_WRITE, TRAFFIC_DIRECTIONS };

/* Where the bytes come from that functions move to and from memory; one for all functions of a
 * model. */
enum model_memory {
	MEMORY_UNKNOWN,
	MEMORY_TRACED, /* counted execution, caches simulated: every level is known */
	/* Of the rest only L1 (LS bytes) and DRAM are known. */
	MEMORY_COUNTED, /* events for bytes at memory, sampled by function */
	MEMORY_SHARED,  /* the program's bytes, by its memory controllers or resctrl, shared out
			 * among functions as the misses of the last cache are: an estimate */
	MEMORY_MISSES,  /* misses of the last cache, sampled by function, times the line: a lower
			   bound */
	N_MODEL_MEMORY
};

/* Lines by class of sets and event: what a profile has of one function or loop. */
struct traffic_lines {
	double by_class[CACHE_CLASSES][N_TRAFFIC];
};

/* An estimate from a sample of classes. */
struct model_estimate {
	double bytes;
	/* standard error; NAN from a single class, 0 where all were simulated */
	double stderr_bytes;
	double halfwidth; /* of the 95 % interval: √((Student's t × stderr_bytes)² +
			     (MODEL_RESOLUTION × bytes)² + open²), with the bytes that are open at
			     the borders which these events cross (cache/traffic.h) */
};

/* The events in `events` (bit e: event e), of `n` classes that were drawn from CACHE_CLASSES
 * without putting back: sum × CACHE_CLASSES / n, its standard error sd/√n · √(1 − n/CACHE_CLASSES)
 * · CACHE_CLASSES. */
struct model_estimate model_estimate(const struct traffic_lines *lines, unsigned n,
				     unsigned events);

/* A part of what moved, and the half-width of its 95 % interval; both from 0 to 1, or NAN. */
struct model_share {
	double share, halfwidth;
};
/* The share that the events in `part` have in those in `whole`, of `n` classes: a ratio of two sums
 * of the same sample, whose standard error is that of part − share × whole (Cochran, Sampling
 * Techniques, 2.11).  NAN where nothing moved; no half-width from a single class. */
struct model_share model_share(const struct traffic_lines *lines, unsigned n, unsigned part,
			       unsigned whole);
/* The share of conflicts of sets in what moved from and to memory: that of the lines of which it is
 * known, more open by those of which it is not.  NAN where these are more than half. */
struct model_share model_conflicts(const struct traffic_lines *lines, unsigned n);

/* All of it, in bytes. */
struct model_bytes {
	struct model_estimate events[N_TRAFFIC];
	struct model_estimate l2, l3; /* both directions; without clean victims */
	struct model_estimate mem[TRAFFIC_DIRECTIONS];
};

/* Nothing. */
extern const struct model_bytes model_no_bytes;

/* One level: what moves between it and the level above it; for L1 between it and registers. */
struct model_level {
	const char *name;                                /* "L1", "L2", "L3", "DRAM" */
	struct model_estimate moved[TRAFFIC_DIRECTIONS]; /* exact at L1 where it was counted; NAN
							  * bytes: not known in that direction */
	/* what moved is a lower bound: intensity and roof are at most what they say */
	bool at_least;
	double write_allocate; /* bytes; of what is read, for stores */
	/* flop per byte in the direction that was asked for; INFINITY without bytes */
	double intensity;
	double rate;      /* 1e9 bytes per second of elapsed time, in that direction */
	double bandwidth; /* of this mix of reads and writes at this level, 1e9 bytes per second; 0:
			   * none was measured that can be told from the level below */
	double roof;   /* GFLOP/s: min(π, bandwidth × intensity); 0 without a bandwidth or flop */
	double misses; /* share of the accesses here that needed the level below, or NAN: DRAM, or
			* no access.  At L1 of load and store instructions, below it of lines */
};

/* How its addresses follow each other, summed over its instructions. */
struct model_strides {
	double unit, constant, random; /* steps */
	int64_t step; /* bytes, the constant one of the instruction with most of them; 0: none */
	double fetched, used; /* bytes of lines from memory; of them touched before they left */
};

/* What instructions whose addresses follow no step got at one level: lines found there and not
 * nearer; at L1 accesses. */
struct model_irregular {
	double lines;
	double chained; /* of these, by loads that wait for an earlier one of their chain */
	double longest; /* of these, on the chain of each loop that takes longest: all of them one
			 * after another */
	/* Of loops alone: the same of chains that end after a few turns, of which those of several
	 * entries may be under way at once. */
	double brief;
	/* Of loops alone: the same of loads that a mispredicted branch waits for. */
	double guessed;
};

struct model_traffic {
	enum model_memory source; /* never MEMORY_UNKNOWN */
	uint64_t samples;         /* of hardware counters that its bytes at memory rest on */
	struct model_level levels[MODEL_LEVELS]; /* from L1 to DRAM; below, all else than
						    `bytes.mem` is of traced ones */
	size_t n_levels;
	struct model_bytes bytes;
	/* Of its memory traffic, what a fully associative last cache of the same size would not
	 * have moved (cache/conflicts.h).  NAN: not known, or nothing moved. */
	struct model_share conflicts;
	/* The parts of its memory traffic that objects have, the largest first. */
	struct profile_sum_object *objects;
	size_t n_objects, cap_objects;
	double program_instructions, program_lines; /* of all code; lines that L1 had not */
	struct model_strides strides;
	struct model_irregular irregular[MODEL_LEVELS]; /* from L1 to DRAM */
	/* Memory traffic against capacity, ascending; capacity 0 (always) first: so many bytes move
	 * when the last cache holds less than `capacity` bytes, and with the larger capacities'
	 * they do not when it holds more. */
	struct profile_sum_working_set *capacities;
	size_t n_capacities, cap_capacities;
	/* Derived from the capacities, of fully associative caches; 0 without any. */
	double moves_now;  /* with one of the size of the last cache, bytes */
	double fits_in;    /* capacity in bytes from which on it moves hardly less */
	double moves_then; /* with one of that size, or of the last cache's where that is larger */
};

/* The level of that name, or NULL. */
const struct model_level *model_level(const struct model_traffic *traffic, const char *name);
/* Bytes that move with a last cache of that capacity. */
double model_moves_at(const struct model_traffic *traffic, double capacity);

/* Steps of the model. */
struct model;
struct model_choice;
struct model_function;
struct model_rows;
struct packed_lines;
struct tally;

/* Sets model->traced and model->traced_classes by what the profile says. */
void model_set_traced(const struct profile *profile, struct model *model);
/* Gives each row with counted work its traffic, without anything in it. */
struct rf_error *model_create_traffic(struct model_rows *rows);
/* Sums up the profile's tables of traffic: the lines of each row and, of its traffic, objects,
 * strides and capacities.  model_create_traffic comes before.  Fails only when memory is short. */
struct rf_error *model_sum_moved(struct model_rows *rows, const struct model *model);

/* The traffic of the row that code is in.  NULL where it has none, since no instruction of it was
 * counted, or where the rows are threads. */
struct model_traffic *model_traffic_at(const struct model_rows *rows, uint32_t module,
				       uint64_t offset);

/* Adds one row of the profile. */
void model_add_lines(struct traffic_lines *lines, const struct profile_traffic *row);

/* Fills each row's traffic from the lines that moved in the simulated caches, and sets
 * model->bytes.  Fails only when memory is short. */
struct rf_error *model_trace(struct model_rows *rows, struct model *model);
/* Adds a level with that name. */
struct model_level *model_add_level(struct model_traffic *traffic, const char *name);
/* Adds level L1, by LS bytes. */
void model_add_registers(struct model_traffic *traffic, const struct tally *tally);
/* Its intensities, rates and roofs, when the time is known. */
void model_trace_rates(const struct profile *profile, const struct model_choice *choice,
		       struct model_function *function);
void model_traffic_destroy(struct model_traffic *traffic);
/* Bytes from lines in the first `n_classes` classes. */
struct model_bytes model_bytes_of(const struct traffic_lines *lines, unsigned n_classes);
/* sum += part, in those classes. */
void model_sum_lines(struct traffic_lines *sum, const struct traffic_lines *part,
		     unsigned n_classes);
