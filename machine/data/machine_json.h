/* The machine as JSON:
 *
 *   { "cpu_model": text, "microarchitecture": text or null, "usable_threads": n, "clock_ghz": x,
 *     "clock_fp_ghz": x,
 *     "counts": [ { "threads": n, "complete": bool } … ],
 *     "caches": [ { "level", "size_bytes", "line_bytes", "ways", "shared_by" } … ],
 *     "roofs": [ { "kind": "compute" | "bandwidth" | "zeros" | "narrow", "isa", "precision", "op",
 * "level", "threads", "cpu_node": n or null, "memory_node": n or null, "best", "median", "q1",
 * "q3", "theory": x or null, "unit", "bytes_convention", "distinguishable", "noisy", "measured": n,
 *                  "history": [ { "when": seconds since 1970, "best" } … ] } … ],
 *     "sizes": [ { "bytes", "latency_ns", "latency_median_ns", "read_gbs", "read_median_gbs" } … ],
 *     "sizes_in_small_pages": bool,
 *     "line_transfers": [ { "between": "core" | "cache" | "beyond", "best_ns", "median_ns",
 * "q1_ns", "q3_ns" } … ],
 *     "pages": { "one_set_ns": [ L2, L3, memory ], "first_pages", "last_pages", "second_ns",
 * "walk_ns", "huge_walk_ns": [ dependent, independent ] } or null (struct page_costs),
 *     "notes": [ text … ] }
 *
 * Rates are in `unit`: "GFLOP/s" (1e9 flop/s), "GOP/s" (1e9 integer operations/s) or "GB/s" (1e9
 * bytes/s).  What is behind "noisy" of a roof, "sizes", "line_transfers" and "pages" may be
 * missing: older files do not have it.  Custom roofs are not part of it: they are kept in a file of
 * their own. */
#pragma once

#include "base/error.h"
#include "machine/data/machine.h"

#include <jansson.h>

/* Makes the JSON object; the caller owns the reference. */
struct rf_error *machine_to_json(const struct machine *machine, json_t **out);

/* Reads it back.  A missing or mistyped member, a rate that is not a positive number or a text
 * that is too long is an RF_EFORMAT error; *machine is then untouched. */
struct rf_error *machine_from_json(json_t *json, struct machine *machine);
