/* How much of its cores a timed program has, while it runs. */
#pragma once

#include "machine/data/core_facts.h"
#include "tracer/timed/sampler.h"

/* What was seen.  Of a run whose sampler does not tell processors there are no looks. */
struct core_looks {
	uint64_t n;
	double clock_ghz;         /* 1e9 cycles a second, the mean */
	double rates[CORE_RATES]; /* instructions a cycle of the core, the mean */
	/* Cycles of an instruction, the median of the fifth of the looks at which most slots were
	 * left. */
	double least[CORE_RATES];
};

struct core_watch;

/* Looks, some times a second, for some 40 us, at a processor that the sampler has samples of, in
 * turns.  Call it when the sampler has been started.  NULL: there will be no looks. */
struct core_watch *core_watch_start(struct sampler *sampler);
/* Ends it, before the sampler ends. */
void core_watch_stop(struct core_watch *watch, struct core_looks *looks);
