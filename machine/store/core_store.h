/* The facts about this machine's core, kept in a file beside its roofs. */
#pragma once

#include "base/error.h"
#include "machine/data/core_facts.h"

/* What is kept; nothing where there is no file, or one that does not hold. */
void core_store_read(struct core_facts *facts);

/* Keeps them.  Where that cannot be they are measured again the next time. */
void core_store_save(const struct core_facts *facts);

/* What is kept, or what is measured now and kept, which takes some seconds; `refresh`: measured in
 * any case.  Fails only when memory is short. */
struct rf_error *core_store_get(bool refresh, struct core_facts *facts);

/* Measures those of the `n` forms, the most wanted first, that *facts does not have, or whose
 * latency did not repeat (core_measure_more), for `budget_ns` at most, and keeps them too.  Fails
 * only when memory is short. */
struct rf_error *core_store_more(const struct insn_form *forms, size_t n, uint64_t budget_ns,
				 struct core_facts *facts);
