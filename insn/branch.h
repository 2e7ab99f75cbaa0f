/* Where an instruction hands control to. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum branch_kind {
	BRANCH_NONE,        /* the next instruction; also calls, which come back to it */
	BRANCH_CONDITIONAL, /* `target` or the next instruction */
	BRANCH_JUMP,        /* `target` */
	BRANCH_INDIRECT,    /* somewhere */
	BRANCH_LEAVE,       /* away: a return, a trap */
};

struct branch {
	enum branch_kind kind;
	uint64_t target;
};

/* Of the instruction at `bytes`, of which at most `size` bytes are read and which stands at
 * `offset`. BRANCH_LEAVE when it cannot be decoded. */
struct branch branch_of_bytes(const uint8_t *bytes, size_t size, uint64_t offset);
