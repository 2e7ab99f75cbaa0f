/* What translated code does where an allocator begins: a record of the call goes into the thread's
 * ring. */
#pragma once

#include "tracer/translate/batch.h"

/* Emits it at the head of the block at pc, when an allocator begins there and accesses are traced.
 */
void emit_allocation(struct batch *batch, uint64_t pc);
