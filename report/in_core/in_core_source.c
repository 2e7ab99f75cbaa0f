/* The in-core part from what the model knows of a loop: how many instructions, loads, stores and
 * taken branches there are, its flop at the rates that were measured, and the chain of its
 * innermost loop.
 *
 * Ports are not looked at, and latencies are the least of all processors', so that it is a lower
 * bound. */
#include "report/in_core/in_core_source.h"

#include "machine/topology/theory.h"
#include "report/model/model_loops.h"
#include "report/model/model_mix.h"
#include "report/model/model_place.h"

#include <math.h>

/* Instructions that a core has under way, at least: reorder buffers since Skylake and Zen 2 (Intel
 * and AMD optimisation manuals). */
#define UNDER_WAY 224

/* What a piece of code does, without the loops within. */
struct own {
	double turns, instructions, flop, loads, stores, load_bytes, store_bytes, taken, chain;
};

static void add(struct own *own, const struct tally_main *tally, double sign)
{
	own->instructions += sign * (double)tally->instructions;
	own->flop += sign * (double)tally->flop;
	own->loads += sign * (double)tally->loads;
	own->stores += sign * (double)tally->stores;
	own->load_bytes += sign * (double)tally->load_bytes;
	own->store_bytes += sign * (double)tally->store_bytes;
}

static struct own own_of(const struct model_function *f, uint32_t loop)
{
	const struct tally_main all = model_tally_main(&f->tally);
	const bool in_loop = loop != PROFILE_NONE;
	struct own own = {.turns = in_loop ? (double)f->loops[loop].turns : 1,
			  .taken = (double)(in_loop ? f->loops[loop].taken : f->code.taken),
			  .chain = in_loop ? (double)f->loops[loop].chain_cycles : 0};
	add(&own, in_loop ? &f->loops[loop].tally : &all, 1);
	size_t n;
	const struct model_loop *within = model_loops_within(f, loop, &n);
	for (size_t i = 0; i < n; i++)
		add(&own, &within[i].tally, -1);
	for (size_t i = 0; i < f->n_loops && !in_loop; i++)
		own.taken -= (double)f->loops[i].taken;
	return own;
}

/* The rate of instructions that move so many bytes each, by the table of microarchitectures. */
static double rate_of(const double rates[THEORY_WIDTHS], double bytes)
{
	const double rate = rates[bytes > 32 ? THEORY_512 : bytes > 16 ? THEORY_256 : THEORY_128];
	return rate > 0 ? rate : rates[THEORY_128];
}

/* [H] eq. 1.  Where the processor is not in the table: two loads and a store a cycle, which all
 * have since Haswell and Zen. */
static double loads_and_stores(const struct profile *profile, const struct own *own)
{
	static const struct microarchitecture usual = {.loads = {2, 2, 2},
						       .stores = {1, 1, 1},
						       .memory = {3, 3, 3}};
	const struct microarchitecture *row =
		microarchitecture_named(profile_get_fact(profile, "microarchitecture"));
	if (!row || !(row->loads[0] > 0) || !(row->stores[0] > 0) || !(row->memory[0] > 0))
		row = &usual;
	const double accesses = own->loads + own->stores,
		     load = own->loads > 0 ? own->load_bytes / own->loads : 0,
		     store = own->stores > 0 ? own->store_bytes / own->stores : 0;
	return fmax(fmax(own->loads / rate_of(row->loads, load),
			 own->stores / rate_of(row->stores, store)),
		    accesses / rate_of(row->memory, fmax(load, store)));
}

/* Cycles that so much flop takes at what the function's mix of it reaches. */
static double arithmetic(const struct profile *profile, const struct model_function *f, double flop,
			 double clock_ghz)
{
	const double ceiling = flop > 0 ? model_mix_ceiling(profile, f) / f->concurrency : 0;
	return ceiling > 0 ? flop / ceiling * clock_ghz : 0;
}

/* The chain of a loop that is left after few turns runs beside that of its next entry, as far as
 * these are under way at once. */
static double chains_at_once(const struct model_function *f, uint32_t loop)
{
	if (loop == PROFILE_NONE || f->loops[loop].entries <= 0)
		return 1;
	const double an_entry =
		(double)f->loops[loop].tally.instructions / (double)f->loops[loop].entries;
	return an_entry > 0 ? fmax(1, UNDER_WAY / an_entry) : 1;
}

bool ecm_in_core(const struct profile *profile, const struct model_function *f, uint32_t loop,
		 struct in_core *in_core)
{
	const double clock_ghz = model_clock_held_ghz(profile);
	const struct own own = own_of(f, loop);
	*in_core = (struct in_core){0};
	if (!(own.turns > 0) || isnan(clock_ghz) || !f->tally.instructions)
		return false;
	in_core->part[IN_CORE_ISSUE] = own.instructions / model_issue_width(profile) / own.turns;
	in_core->part[IN_CORE_UNITS] = arithmetic(profile, f, own.flop, clock_ghz) / own.turns;
	in_core->part[IN_CORE_FETCH] = own.taken / own.turns;
	in_core->lcd = own.chain / own.turns;
	in_core->part[IN_CORE_CHAIN] = in_core->lcd / chains_at_once(f, loop);
	for (int i = 0; i < IN_CORE_PARTS; i++) {
		in_core->part[i] = fmax(0, in_core->part[i]);
		in_core->t_ol = fmax(in_core->t_ol, in_core->part[i]);
	}
	in_core->t_nol = fmax(0, loads_and_stores(profile, &own) / own.turns);
	return true;
}
