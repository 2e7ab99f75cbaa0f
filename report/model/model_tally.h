/* The counts of what instructions do, summed up. */
#pragma once

#include "insn/work.h"

#include <stdint.h>

/* Exact counts.  All saturate at INT64_MAX. */
struct tally {
	uint64_t flop;          /* active lanes */
	uint64_t flop_unmasked; /* all lanes, as a PMU counts them */
	uint64_t flop_by_kind[FLOP_KINDS][FLOP_PRECISIONS][FLOP_WIDTHS];
	uint64_t load_bytes, store_bytes;
	uint64_t nt_store_bytes; /* of store_bytes: by stores that bypass the caches */
	uint64_t string_bytes;   /* of load_bytes + store_bytes: by repeated string instructions */
	uint64_t loads, stores;  /* instructions that load, that store */
	uint64_t instructions;
	uint64_t class_instructions[INSN_CLASSES];
};

/* Those of them that are told of a loop: there are many, and a tally is large. */
struct tally_main {
	uint64_t instructions, flop, load_bytes, store_bytes;
	uint64_t loads, stores; /* instructions */
};

/* Adds what is known from the instruction alone. */
void model_tally_fixed(struct tally *tally, const struct work *work);
/* Sets `tally` to what one run-time unit of the instruction adds. */
void model_tally_unit(const struct work *work, struct tally *tally);
/* sum += part * times; below 0, takes back, but never below 0. */
void model_tally_add(struct tally *sum, const struct tally *part, int64_t times);
/* The same with one count. */
void model_count_add(uint64_t *sum, uint64_t value, int64_t times);

struct tally_main model_tally_main(const struct tally *tally);
/* The same as of whole tallies. */
void model_main_fixed(struct tally_main *tally, const struct work *work);
void model_main_add(struct tally_main *sum, const struct tally_main *part, int64_t times);

/* The counts of a tally that are one number each, by name. */
#define TALLY_COUNTS(X)  \
	X(flop)          \
	X(flop_unmasked) \
	X(load_bytes)    \
	X(store_bytes) X(nt_store_bytes) X(string_bytes) X(loads) X(stores) X(instructions)
