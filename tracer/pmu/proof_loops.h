/* Loops that know what they do, for proof.h. */
#pragma once

#include "tracer/pmu/event_table.h"

#include <stdbool.h>
#include <stdint.h>

enum { PROOF_COUNT = 1000000 }; /* FMAs, lines, loads of a loop: about so many */

struct proof_loop {
	char name[64]; /* "10^6 fma of 256 bits, double" */
	bool fma;      /* its flop are those of fused multiply-adds */
	/* In the unit of the quantity; NAN: the loop says nothing about it. */
	double truth[N_EVENT_QUANTITIES];
	void (*prepare)(struct proof_loop *loop); /* before each run, uncounted; or NULL */
	void (*run)(struct proof_loop *loop);
	const void *kernel;
	uint64_t n;
	void *memory;
	size_t memory_size;
};

/* A loop that says nothing yet, for tests and for the rest here. */
void proof_loop_init(struct proof_loop *loop, const char *name);

enum { PROOF_MAX_LOOPS = 16 };
struct proof_loops {
	struct proof_loop *loops[PROOF_MAX_LOOPS];
	size_t n;
};

/* What this processor can run: FMA (or where it has none: add) of each width and precision, a chain
 * of adds (cycles, instructions), loads and stores, and lines read from memory.  Takes what memory
 * allows. */
void proof_loops_init(struct proof_loops *loops);
void proof_loops_deinit(struct proof_loops *loops);
