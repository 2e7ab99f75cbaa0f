/* The instructions of a loop that are left in a variant of it (enum replay_variant). */
#pragma once

#include "insn/dataflow.h"
#include "machine/replay/replay_code.h"

/* What all instructions of a turn do together. */
struct replay_use {
	struct full_insn *full;
	struct dataflow *flows;
	size_t n;
	uint32_t general;         /* registers that are used */
	uint32_t vectors_written; /* vectors that are written */
	uint32_t general_written;
	bool is_address[REPLAY_MOST_STEPS]; /* computes what addresses come from */
};

/* Finds is_address. */
void replay_find_addresses(struct replay_use *use);

/* Appends what becomes of instruction `i`, which is no branch; REPLAY_DONE, or
 * REPLAY_NO_VARIANT. *changed: it is not the same instruction. */
enum replay_why replay_variant_add(const struct replay_use *use, size_t i,
				   const struct way_step *step, enum replay_variant variant,
				   struct code *code, bool *changed);
