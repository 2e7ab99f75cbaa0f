/* What instructions are and do, kept by their bytes: code repeats itself, and to find an
 * instruction again takes a fraction of decoding it in full. */
#pragma once

#include "insn/dataflow.h"

struct insn_cache;

/* NULL: memory is short. */
struct insn_cache *insn_cache_create(void);
void insn_cache_destroy(struct insn_cache *cache);

/* As work_of_bytes and dataflow_of_bytes, but NULL where these return false.  What they return
 * holds until the next call. */
const struct work *insn_cache_work(struct insn_cache *cache, const uint8_t *bytes, size_t size);
const struct dataflow *insn_cache_dataflow(struct insn_cache *cache, const uint8_t *bytes,
					   size_t size);
