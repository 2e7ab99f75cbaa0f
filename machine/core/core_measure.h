/* Measures the facts about this machine's core: machine/data/core_facts.h. */
#pragma once

#include "base/error.h"
#include "machine/data/core_facts.h"

/* All forms of forms.def that this processor has, within `budget_ns`: those for which there is no
 * time are left out.  Where nothing can be measured *facts is empty.  Fails only when memory is
 * short. */
struct rf_error *core_measure(uint64_t budget_ns, struct core_facts *facts);

/* Adds the `n` forms, the most wanted first, to what was measured before, within `budget_ns`. Those
 * that cannot be measured are left out.  Of those that are known the ones are measured again of
 * which a latency did not repeat, and those that every loop is reckoned with (slots, branches,
 * loads and stores), in six passes at most altogether.  What is no form's is measured twice the
 * first time, and once more in each of the next four calls, of which the shorter counts: a machine
 * may be disturbed for as long as the first time takes. */
struct rf_error *core_measure_more(const struct insn_form *forms, size_t n, uint64_t budget_ns,
				   struct core_facts *facts);
