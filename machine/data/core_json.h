/* Facts about a core as JSON: in the file where they are kept, in profiles, and for readers. */
#pragma once

#include "base/error.h"
#include "machine/data/core_facts.h"

#include <jansson.h>

/* { "looks": n, "probes": [name …], "taken": cycles, "code_lines": [in one, in two], "load":
 * [general, vector], "forward": [ … ], "forward_still": [ … ], "forward_indexed": [ … ],
 * "forward_update": cycles, "address": cycles, "alone": [cycles a kind of core_rate],
 * "dividers_apart": bool, "compares_fuse": bool, "steps_fuse": bool, "forms": [ { "form": name,
 * "looks": n, "reciprocal": cycles, "apart": cycles, "latency": [cycles or null …], "use": [cycles
 * or null …] } … ] } The caller owns the reference; NULL when memory is short.
 */
json_t *core_facts_to_json(const struct core_facts *facts);

/* Reads it; RF_EFORMAT, with *out untouched: it is none, or its probes are others. */
struct rf_error *core_facts_from_json(const json_t *json, struct core_facts *out);
