/* What one rank of a node does while the others wait: measuring the roofs. */
#pragma once

#include "ranks/rank.h"

#include <sched.h>
#include <stdbool.h>

struct node_turn {
	int fd;           /* of the lock, or -1 */
	bool late;        /* the others took too long: the turn was not had */
	bool done_before; /* another rank of this job has had it */
	bool widened;
	cpu_set_t before; /* the calling thread's processors */
};

/* Waits until no other rank of this user is at it on this node.  Meanwhile the calling thread may
 * run where the launcher may, since a rank is often bound to one core, and roofs are the node's. */
void node_turn_begin(const struct rank *rank, struct node_turn *turn);
/* Notes, where `done`, that the rank has done it, and lets the next one go on. */
void node_turn_end(const struct rank *rank, bool done, struct node_turn *turn);
