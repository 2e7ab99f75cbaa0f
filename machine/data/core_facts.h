/* What forms of instructions (insn/form.h) take on a core: all measured on the machine itself.
 *
 * Which forms compete for the same units is told by probes: a loop is filled with one probe, so
 * that the units of this one have no cycle left, and a form is put in between.  By how much a turn
 * takes longer is how long the form keeps the probe's units: 1 / n of a cycle where all its n units
 * are used, 0 where it runs beside them.  The time of a mixture is then at least, for each probe,
 * the sum of what its instructions use of it: the ports of a core are never named.  (The dual of a
 * port mapping; Derumigny et al. 2022, PALMED.) */
#pragma once

#include "insn/form.h"

#include <math.h>

enum core_probe {
#define PROBE(name, form, older) PROBE_##name,
#include "machine/data/core_probes.def"
#undef PROBE
	CORE_PROBES
};

/* Cycles; NAN: not measured, or it did not repeat. */
struct form_fact {
	struct insn_form form;
	/* From each operand of the form, and from flags and registers that are meant without being
	 * named (FORM_HIDDEN), to the result.  Between general and vector registers and masks only
	 * the way there and back can be measured, of which each way gets a half. */
	double latency[FORM_OPERANDS + 1];
	/* So much more when the operand is the result of another kind of instruction: some units
	 * hand their own results over sooner (Golden Cove's adders); 0: no more. */
	double apart;
	/* So much more where instructions of 512 bits compute in the same loop, for which some
	 * cores join units (Golden Cove: additions go to the units of multiplications then); 0: no
	 * more.
	 */
	double beside_wide;
	double reciprocal; /* of throughput: one behind the other, independent of each other */
	unsigned looks;    /* how often it was measured; of files that do not say so 0 */
	double use[CORE_PROBES];
};

/* What instructions under way need, each one of it, and of which a core has so many. */
enum core_window {
	WINDOW_GENERAL, /* a general register for its result */
	WINDOW_FLAGS,   /* the status flags; on many cores they are the register's */
	WINDOW_VECTOR,  /* a vector register */
	WINDOW_LOADS,
	WINDOW_STORES,
	CORE_WINDOWS
};

#define CODE_LINE 64 /* bytes that are fetched together at most */

/* Instructions that do not wait for each other, of each kind as many as the core can. */
enum core_rate {
	CORE_RATE_SLOTS,   /* that do nothing: slots of issue */
	CORE_RATE_INTEGER, /* additions of integers */
	CORE_RATE_VECTOR,  /* additions of vectors of floating-point numbers */
	CORE_RATE_LOADS,
	CORE_RATE_STORES,
	CORE_RATE_BRANCHES, /* every second of which is mispredicted */
	CORE_RATES
};

struct core_facts {
	unsigned looks; /* how often what is no form's was measured */
	double taken;   /* of a taken branch */
	/* Of two jumps and four instructions that do nothing, in one line of CODE_LINE bytes and in
	 * two. */
	double code_lines[2];
	/* By which a branch that looks at what was loaded from L1 makes code longer each time that
	 * it is mispredicted, every second time and rarely (machine/core/branch_cost.h). */
	double mispredicted[2];
	/* Into general and vector registers: from an address to what is loaded; from a store to the
	 * load of the same place, where the place moves on from one to the next and where it stays
	 * (which some processors then keep in a register). */
	double load[2], forward[2], forward_still[2];
	/* The same where the address of the store and the load has an index: cores that take a
	 * value from its store by the registers of the address may do so without one only. */
	double forward_indexed[2];
	/* From a store to the load of the same place by the next instruction that loads, adds a
	 * register and stores. */
	double forward_update;
	/* The first of load[] where the address has an index that is scaled. */
	double load_scaled;
	/* From a store to the load, into a general register, of a part of it that does not begin
	 * where it begins, or of one or two bytes. */
	double forward_part;
	/* From a store to a load some of whose bytes are not that store's, but of another one or
	 * from before: no core forwards these.  `blocked`: in a chain; `blocked_each`: of loads
	 * that do not wait for each other. */
	double blocked, blocked_each;
	/* By which a load into a general register or a vector takes longer behind a store whose
	 * address ends in the same twelve bits; 0: no longer. */
	double alias[2];
	/* Instructions that are under way at most, of those that need each of these; NAN: not
	 * known. */
	double windows[CORE_WINDOWS];
	/* Of an address, of a load or a store, where two loads and a store take longer than both
	 * alone and so share units for these; 0 where they do not. */
	double address;
	/* Loads and stores that lie in two lines keep the units for loads and stores so many times
	 * as long as others. */
	double crossing[2];
	/* Of an instruction of each kind, the least that was seen beside programs
	 * (machine/kernels/core_rates.h): with the core to itself.  0: none was. */
	double alone[CORE_RATES];
	/* In facts of a profile: the share of each rate that the core had left for the program, 0
	 * to 1; 0: not known. */
	double left[CORE_RATES];
	bool dividers_apart; /* integers are divided beside floating-point numbers */
	/* A comparison and the branch behind it take one slot together; the same of what adds or
	 * subtracts. */
	bool compares_fuse, steps_fuse;
	struct form_fact *forms; /* by form_key() */
	size_t n_forms, cap_forms;
};

void core_facts_deinit(struct core_facts *facts);
/* Whether there are any. */
static inline bool core_facts_known(const struct core_facts *facts)
{
	return facts->n_forms > 0;
}
/* NULL: it was not measured.  Valid until one is added. */
const struct form_fact *core_facts_find(const struct core_facts *facts, struct insn_form form);
/* Adds a form or replaces it.  False: no memory. */
bool core_facts_add(struct core_facts *facts, const struct form_fact *fact);
/* The name of the fact that says what was left of it: "left_slots", ... */
const char *core_left_fact(enum core_rate rate);
/* By which instructions of a kind took longer while the program ran, since another hardware thread
 * of the core was busy: 1 or more; 1 where that is not known. */
double core_slower(const struct core_facts *facts, enum core_rate rate);
/* Its form: with AVX, and without ("": none). */
const char *core_probe_form(enum core_probe probe, bool avx);

/* The longest of its latencies; NAN: none is known. */
double form_fact_latency(const struct form_fact *fact);
/* The form that stands for a load or a store of that width. */
struct insn_form core_load_form(enum access_width width);
struct insn_form core_store_form(enum access_width width);
