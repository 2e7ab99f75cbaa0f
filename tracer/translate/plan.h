/* First half of a translation: which instructions belong to a batch, and where blocks begin. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "insn/decode.h"
#include "tracer/translate/translate.h"

/* Status flags whose values are read by nobody. */
enum dead_flags { DEAD_ARITHMETIC = 1, /* OF, SF, ZF, AF, PF */ DEAD_CARRY = 2, DEAD_ALL = 3 };

struct planned {
	struct decoded insn;
	bool leader;      /* a block begins here */
	bool loop_head;   /* target of a backward branch */
	bool is_kernel;   /* a kernel's function begins here: whatever comes here is seen */
	bool last_of_run; /* the next instruction in memory is not the next in the plan */
	uint8_t dead;     /* enum dead_flags: may be changed just before it */
	bool keeps_flags; /* a return behind what restores the status flags: they matter where it
			     leads */
};

#define MAX_PLT_INSNS 2 /* of an entry of a PLT: nothing but an endbr64 before the jump */

struct plan {
	const struct hot_code *hot; /* nothing but that is in it; NULL: none of it */
	struct code_window { /* a copy of the program's code around the place being decoded */
		uint64_t pc;
		size_t size;
		bool ends; /* there is no code behind it */
		uint8_t bytes[256];
	} window;
	struct planned *items;
	size_t n_items, cap_items;
	struct u64_map index_of_pc;
	uint64_t *todo;
	size_t n_todo, cap_todo;
};

/* Decodes everything reachable from pc by direct transfers other than calls, up to the batch's
 * limit.  The plan has no items when the first instruction cannot be had; then *why says why
 * (static text).  The only error is that memory is short. */
struct rf_error *plan_build(struct plan *plan, struct translator *translator, uint64_t pc,
			    const char **why);
void plan_deinit(struct plan *plan);

/* Length of what begins at an item and goes on, without any other transfer, to a branch to the
 * instruction at `head`; 0: it does not, or not soon. */
size_t plan_loop_length(const struct plan *plan, size_t first, uint64_t head);

/* Which status flags the code at pc writes before it reads any, found by looking at its first few
 * instructions. */
uint8_t plan_dead_at(struct translator *translator, uint64_t pc);

/* Whether what stands at pc jumps through the GOT: an entry of a procedure linkage table. */
bool plan_is_got_jump(struct translator *translator, uint64_t pc);
/* Whether a value in the GOT aims at the code that has it resolved (the dynamic linker's lazy
 * binding): push $number, behind an endbr64 if need be. */
bool plan_is_unresolved(struct translator *translator, uint64_t value);
