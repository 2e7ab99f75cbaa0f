/* Has a batch noted while it is translated (notes.h), and keeps it. */
#pragma once

#include "tracer/translate/batch.h"
#include "tracer/translate/kept.h"

/* Begins when the next batch is of the code at pc, and another of its place can be kept. */
void record_begin(struct translator *translator, struct arena *arena, uint64_t pc, uint64_t key);
/* The batch is emitted, but not published: keeps it.  Nothing is noted any more. */
void record_end(struct batch *batch, const struct plan *plan, bool with_entry);
/* There is no batch. */
void record_drop(struct translator *translator);
