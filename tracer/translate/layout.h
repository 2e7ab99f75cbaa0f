/* Between plan and emission: the blocks of a batch in the order of their code, the junctions
 * between them, and which blocks need a counter (derive.h). */
#pragma once

#include "base/error.h"
#include "tracer/translate/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layout_block {
	uint32_t first;    /* item of the plan */
	uint16_t n;        /* instructions */
	bool first_of_run; /* control does not come from the code before it */
	bool is_rest;      /* a copy of the rest of a loop that is one block */
	bool is_derived;
	uint16_t weight;  /* what a counter would cost: executions, way of counting */
	uint32_t in, out; /* junctions, as numbered in the code cache */
};

struct layout {
	struct layout_block *blocks;
	size_t n_blocks, cap_blocks;
	struct u64_map block_of_pc;
	bool counts_exits; /* what leaves the batch from a junction is counted on its way */
};

/* Adds junctions and derived blocks to the cache; the batch's blocks will be the next ones there,
 * in the layout's order.  The only error is that memory is short. */
struct rf_error *layout_build(struct layout *layout, const struct plan *plan,
			      struct code_cache *cache);
void layout_deinit(struct layout *layout);

/* The junction that direct transfers from this batch to pc lead through, or OUTSIDE when pc is no
 * block of it or takes control from elsewhere, too. */
uint32_t layout_junction(const struct layout *layout, uint64_t pc);

/* Whether it is what an entry of a PLT is: a few instructions, and a jump through the GOT. */
bool layout_is_plt(const struct plan *plan, const struct layout_block *block);
