/* What the program would move in the caches of another machine (--other-caches), by function.
 *
 * It stands beside the report's other figures and goes into none of them: times, roofs and time
 * accounts are this machine's. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

struct other_move {
	uint32_t function; /* row in profile->functions; PROFILE_NONE: code of none that is known */
	uint32_t module;   /* of that code */
	double bytes[TRAFFIC_MEM_LEFT + 1], write_through;
};

struct other_moves {
	struct other_move *items; /* that with most bytes to and from memory first */
	size_t n_items, cap_items;
	struct other_move all; /* the whole program; function and module PROFILE_NONE */
	bool is_known;         /* such caches were simulated */
	bool has_l3;           /* there is one */
};

/* Sums of a profile's table other_traffic.  Fails only when memory is short; deinit in any case. */
struct rf_error *other_moves_init(const struct profile *profile, struct other_moves *moves);
void other_moves_deinit(struct other_moves *moves);
/* Adds a row to a sum. */
void other_move_add(struct other_move *sum, const struct profile_other_traffic *row);

/* Bytes that come from a level towards the core, and that go to it: of lines, and of stores that
 * an L1 writes through. */
struct other_flow {
	double in, out;
};
struct other_flow other_move_l2(const struct other_move *move);
struct other_flow other_move_l3(const struct other_move *move);
struct other_flow other_move_memory(const struct other_move *move);
