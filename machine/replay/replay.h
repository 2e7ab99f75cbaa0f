/* A program's loop, replayed: the code of its turns runs by itself, in a child process without
 * rights, with its data in a few pages that stay in L1 (as in BHive, Chen et al. 2019), and is
 * timed in cycles of the core.  No port, latency or table is asked.
 *
 * Registers and memory do not hold what they held in the program, which nobody has recorded:
 * general registers begin with addresses far from each other, vectors and memory with 1.0001 or,
 * where general registers are loaded, with an address that points at itself.  Subnormal numbers are
 * 0.  What takes time by its values (divisions), by the distance of its addresses, or by branches
 * that are guessed wrongly takes another time than in the program. */
#pragma once

#include "base/error.h"
#include "machine/replay/replay_code.h"

struct replay {
	enum replay_why why; /* REPLAY_DONE: what follows is known */
	double cycles;       /* of a turn */
	/* More pages were touched than L1 has room for beside each other, so that several have the
	 * same memory. */
	bool folded;
};

/* Runs and times the way through a turn, which takes some ms and SECONDS (replay.c) at most. Fails
 * only when memory is short. */
struct rf_error *replay_measure(const struct way_step *steps, size_t n, enum replay_variant variant,
				struct replay *out);

/* The loop and its variants: fills why, cycles and folded, of which the caller has set cycles to
 * NAN. Fails only when memory is short. */
struct rf_error *replay_loop(const struct way_step *steps, size_t n, struct loop_replay *out);
