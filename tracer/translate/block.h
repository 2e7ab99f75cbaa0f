/* The blocks of a batch, one after another. */
#pragma once

#include "tracer/translate/batch.h"

/* Emits all blocks of the layout. */
void emit_blocks(struct batch *batch, const struct plan *plan);
