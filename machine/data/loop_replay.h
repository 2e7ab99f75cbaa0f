/* What loops of a program took when they were replayed (machine/replay/replay.h), as a profile has
 * it. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of the loop. */
enum replay_variant {
	REPLAY_WHOLE,
	REPLAY_MEMORY,     /* loads and stores, and what their addresses are computed by */
	REPLAY_ARITHMETIC, /* all but loads and stores: registers are in their place */
	REPLAY_ONE_LINE,   /* all loads go to one line, all stores to another one */
	REPLAY_VARIANTS
};

/* Why a loop is not replayed. */
enum replay_why {
	REPLAY_DONE,
	REPLAY_LONG,       /* more instructions than there is room for */
	REPLAY_UNDECODED,  /* bytes that are no instruction */
	REPLAY_CALLS,      /* a call, a return, an indirect jump */
	REPLAY_REFUSED,    /* an instruction that is not known to do no harm, or is not here */
	REPLAY_SEGMENT,    /* data of a thread */
	REPLAY_SCATTERED,  /* a gather or scatter, whose addresses are not known */
	REPLAY_NO_VARIANT, /* the variant cannot be made, or is the loop itself */
	REPLAY_ADDRESS,    /* an address that cannot be, or is not aligned as it must */
	REPLAY_FAULT,      /* an instruction failed: a division, one that is not here */
	REPLAY_PAGES,      /* its data lie in too many pages */
	REPLAY_UNSTEADY,   /* its time did not repeat within 1 % */
	REPLAY_CHILD,      /* the child was not there, or ended */
	REPLAY_NO_WAY,     /* no way through a turn comes back, or none is short enough */
	REPLAY_WHYS
};

struct loop_replay {
	char *module;    /* its build id; or its path, where it has none */
	uint64_t header; /* offset of the instruction that each turn passes */
	enum replay_why why;
	double cycles[REPLAY_VARIANTS]; /* of a turn; NAN: not known */
	/* More pages were touched than L1 has room for beside each other, so that several have the
	 * same memory. */
	bool folded;
};

struct loop_replays {
	struct loop_replay *items;
	size_t n, cap;
};

void loop_replays_deinit(struct loop_replays *replays);
/* Fails only when memory is short; `module` is copied. */
struct rf_error *loop_replays_add(struct loop_replays *replays, const struct loop_replay *replay);
/* NULL: it is none of them. */
const struct loop_replay *loop_replays_find(const struct loop_replays *replays, const char *module,
					    uint64_t header);

/* "memory", "arithmetic", "one_line"; the loop as a whole is "cycles". */
const char *replay_variant_name(enum replay_variant variant);
/* For a sentence that begins with "not replayed: ", such as "it calls, …". */
const char *replay_why_words(enum replay_why why);

/* A new reference; NULL: memory is short. */
json_t *loop_replays_to_json(const struct loop_replays *replays);
/* Adds those of the JSON to *out; what is no loop is left out.  Fails only when memory is short. */
struct rf_error *loop_replays_from_json(const json_t *json, struct loop_replays *out);
