/* The cells of a thread's slot into which traced code puts the blocks that it runs
 * (tracer/gate/protocol.h, G_BLOCKS_LEFT), as the tracer sees them.
 *
 * The program can write there, too: nothing that is read is trusted. */
#pragma once

#include "tracer/gate/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_burst {
	uint8_t *slot;
	uint32_t asked; /* blocks; 0: no burst is on */
};

/* The thread notes the next n blocks, MOST_BLOCKS at most; it may run.  No burst is on. */
void block_burst_ask(struct block_burst *burst, uint32_t n);
/* Whether all that was asked for is there. */
bool block_burst_is_full(const struct block_burst *burst);
/* What has been noted, the first one last: n numbers of groups.  The burst ends.  Where it is not
 * full the thread does not run. */
const uint32_t *block_burst_take(struct block_burst *burst, size_t *n);
