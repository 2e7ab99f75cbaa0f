/* Which operands of a block are checked together, where, and through which register.
 *
 * Operands whose addresses differ by a constant that is known when the block is translated are one
 * group: one check for all of them, before the first is accessed. */
#pragma once

#include "base/error.h"
#include "tracer/translate/plan.h"
#include "tracer/translate/trace_config.h"

/* Gathers and scatters of more lanes are recorded without a check. */
#define MAX_TESTED_LANES 16

/* A check, or a record that is made without one. */
struct trace_check {
	uint16_t before;    /* the instruction in front of which it stands */
	bool behind;        /* it stands behind that instruction instead */
	bool flags_dead;    /* status flags may be changed there */
	bool always;        /* no check: many addresses matter, or all are in simulated classes; a
			       gather that is not always recorded has a check of each lane */
	bool is_constant;   /* the address is known: what is checked is whether its class still is
			       simulated */
	uint8_t lines;      /* how many lines the bytes may touch: 1 to TRACE_MASKS */
	uint16_t last;      /* the last byte is so far behind the first */
	uint16_t registers; /* bit n: general register n forms the address */
	struct operand operand; /* its address is that of the first byte, as of that place */
	uint32_t word;          /* of the record (protocol.h), without TRACE_ALWAYS */
	uint32_t stored;        /* of plain operands, if they store: TRACE_STORED */
};

struct trace_plan {
	struct trace_check *checks; /* by their places */
	size_t n_checks, cap_checks;
	/* In front of which instruction it is noted, in bursts, that the block has run
	 * (G_BLOCKS_LEFT); `word` of its check is the number of its group. */
	bool has_transfer;
	struct trace_check transfer;
	uint16_t used;       /* general registers that the block uses */
	uint32_t n_untraced; /* operands that cannot be traced */
};

/* Plans a block of n instructions, which has that number in its code cache.  `locate` as in struct
 * code_source.  The only error is that memory is short. */
struct rf_error *trace_plan_build(struct trace_plan *plan, struct trace_config *config,
				  const struct code_source *source, uint32_t block,
				  const struct planned *items, size_t n);
void trace_plan_deinit(struct trace_plan *plan);
/* What building keeps in a config from block to block; NULL is allowed. */
void trace_scratch_destroy(struct trace_scratch *scratch);
