/* The instructions of one turn of a loop, in the order in which they run. */
#pragma once

#include <stdint.h>

struct way_step {
	const uint8_t *bytes; /* `length` of them */
	uint8_t length;
	uint64_t offset; /* where it stands in its file */
	uint64_t next;   /* where the next one on the way stands; of the last one: the first */
};
