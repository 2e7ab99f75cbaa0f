/* What loads take that come soon behind stores to the same place, or to one that looks like it. */
#pragma once

#include "machine/core/form_measure.h"

/* Measures facts->forward and what else begins so, blocked, blocked_each and alias. */
void store_cost_measure(struct form_measure *measure, struct core_facts *facts);
/* Of two times of each of these the shorter one, in `facts`: what disturbs makes them longer. */
void store_cost_take_shorter(struct core_facts *facts, const struct core_facts *again);
