/* Counters are proved before they are trusted: each is counted around loops whose truth is known.
 *
 * What is proved is a quantity: the sum of multiplier × count over its events (event_table.h) must
 * agree with what a loop does to 2 %, for each loop that says something about that quantity.  Where
 * it does not, the events that counted there are to blame, or if none counted, those that should
 * have; each gets its reason in words. */
#pragma once

#include "base/error.h"
#include "tracer/perf/perf_source.h"
#include "tracer/perf/refusal.h"
#include "tracer/pmu/event_table.h"
#include "tracer/pmu/proof_loops.h"

#include <stdbool.h>

#define PROOF_TOLERANCE 0.02
enum { PROOF_ATTEMPTS = 3 }; /* a disturbed one does not condemn */

/* A row of the table, encoded. */
struct proof_event {
	struct perf_event_attr attr; /* type, config, config1, config2 */
	const struct event_row *row;
};

/* False: the event is not of the core, is known to be wrong, or libpfm4 cannot encode it (a
 * stepping without it). */
bool proof_event_init(struct proof_event *event, const struct event_row *row);

enum proof_verdict {
	PROOF_GOOD,
	/* No loop here makes it count, and nothing speaks against it: used, and said. */
	PROOF_NOT_EXERCISED,
	PROOF_BAD, /* not to be opened or read, without a counter of its own, silent, or wrong */
};

struct proof_result {
	enum proof_verdict verdict;
	char why[320]; /* what was found and what it hints at; "" when good */
};

/* What the reasons depend on. */
struct proof_place {
	struct refusal_facts facts;
	bool smt; /* the core's other hardware thread is on line */
};
void proof_place_read(const char *root, struct proof_place *place);

/* Counts each event alone, for the calling thread, around each loop that knows something of its
 * quantity.  Events of the whole package (EVENT_UNCORE) cannot be counted for a thread:
 * PROOF_NOT_EXERCISED.  `results` has room for n. Fails only when memory is short. */
struct rf_error *proof_run(const struct perf_source *source, const struct proof_event *events,
			   size_t n, struct proof_loop *const *loops, size_t n_loops,
			   const struct proof_place *place, struct proof_result *results);

/* Whether a quantity can be used: at least one of its events is good, and none is bad.  `why` has
 * the first reason against it (one of `results`, or a constant), "" when there is none. */
bool proof_quantity_usable(const struct proof_event *events, const struct proof_result *results,
			   size_t n, enum event_quantity quantity, const char **why);
