/* First half of a translation: which instructions belong to a batch, and where blocks begin. */
#pragma once

#include "base/u64_map.h"
#include "tracer/decode.h"
#include "tracer/translate.h"

struct planned {
	struct decoded insn;
	bool leader;		/* a block begins here */
	bool loop_head;		/* target of a backward branch */
	bool last_of_run;	/* the next instruction in memory is not the next in the plan */
	bool flags_dead;	/* status flags other than CF may be changed just before it */
	bool carry_dead;	/* CF may be, too */
};

struct plan {
	struct planned *items;
	size_t n_items, cap_items;
	struct u64_map index_of_pc;
	uint64_t *todo;
	size_t n_todo, cap_todo;
};

/* Decodes everything reachable from pc by direct transfers other than calls, up to the batch's
 * limit.  Returns false with *why when the first instruction cannot be had. */
bool plan_build(struct plan *plan, struct translator *translator, uint64_t pc, const char **why);
void plan_deinit(struct plan *plan);

/* Whether the code at pc writes all status flags before it reads any, found by looking at its
 * first few instructions. */
bool plan_flags_dead_at(struct translator *translator, uint64_t pc);
