/* Facts of ranks that are merged. */
#pragma once

#include "profile/profile.h"

#include <stdbool.h>

/* Adds those of a rank: sums, the most, or what the first one says; notes each once.  Fails only
 * when memory is short. */
struct rf_error *rank_facts_add(struct profile *into, const struct profile *profile, bool first);
/* What all of them together are told as. */
void rank_facts_finish(struct profile *into);
