/* Where indirect jumps, calls and returns come in: code that makes sure that they came to the right
 * place. */
#pragma once

#include "tracer/translate/batch.h"

/* The entry for indirect jumps and calls to pc: rcx holds the wanted address.  Falls through into
 * the block with rcx and rax restored.  Returns its offset in the batch's arena. */
uint32_t emit_entry(struct batch *batch, uint64_t pc);
/* The landing for returns to pc: -8(%rsp) holds the address that was returned to.  Falls through.
 * `flags_dead`: all status flags may be changed there. */
void emit_landing(struct batch *batch, uint64_t pc, bool flags_dead);
/* Brings older landings to terms with those of this batch. */
void emit_replaced_landings(struct batch *batch);
