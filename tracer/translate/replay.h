/* Makes a batch from one that is kept: what a translation would make, without decoding and emitting
 * it. */
#pragma once

#include "tracer/translate/batch.h"
#include "tracer/translate/kept.h"

/* The kept batch of that place that a translation of the code at pc into `arena` would repeat, or
 * NULL.  `with_entry` as in translate.c. */
const struct kept_batch *replay_find(struct translator *translator, const struct arena *arena,
				     uint64_t pc, uint64_t key, bool with_entry);

/* Adds it to the batch's arena and to the cache, as it is before it is published.  It must just
 * have been found. */
void replay_batch(struct batch *batch, const struct kept_batch *kept, uint64_t pc);
