/* Which loops of a profile are replayed, and what it has of those that were. */
#pragma once

#include "insn/way.h"
#include "machine/data/loop_replay.h"
#include "profile/profile.h"

/* Fills why, cycles and folded of the loop whose turn has these instructions, the most frequent
 * way.  Fails only when memory is short. */
typedef struct rf_error *loop_replayer(const struct way_step *steps, size_t n,
				       struct loop_replay *out);

/* Has the innermost loops with 1 % of the program's time or more replayed, the REPLAYS_MOST with
 * most time and as many of these as begin within REPLAYS_NS, and keeps what that gives as a fact of
 * the profile.  Fails only when memory is short. */
#define REPLAYS_MOST 16
#define REPLAYS_NS UINT64_C(10000000000)
struct rf_error *replays_take(struct profile *profile, loop_replayer *replay);

/* What the profile has; nothing where none were.  The caller deinitialises it. */
struct rf_error *replays_of(const struct profile *profile, struct loop_replays *replays);
/* Of the loop of a function in that module with that header; NULL: it was not among them. */
const struct loop_replay *replays_find(const struct loop_replays *replays,
				       const struct profile *profile, uint32_t module,
				       uint64_t header);
