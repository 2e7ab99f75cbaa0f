/* How an instruction hands control on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ZydisDecodedInstruction_;

enum flow {
	FLOW_NEXT,   /* goes on to the next instruction */
	FLOW_JUMP,   /* direct jump */
	FLOW_BRANCH, /* jcc */
	FLOW_LOOP,   /* loop, loope, loopne, jrcxz, jecxz: only a rel8 form exists */
	FLOW_CALL,   /* direct call */
	FLOW_JUMP_INDIRECT,
	FLOW_CALL_INDIRECT,
	FLOW_RETURN,
	FLOW_SYSCALL,
	FLOW_XBEGIN,
	FLOW_NATIVE, /* cannot be translated: the thread goes on natively from here */
};

/* Never FLOW_NATIVE, which is the translator's question (decode.h). */
enum flow flow_of(const struct ZydisDecodedInstruction_ *insn);

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
	uint8_t length; /* bytes of the instruction; 0: it cannot be decoded */
};

/* Of the instruction at `bytes`, of which at most `size` bytes are read and which stands at
 * `offset`. BRANCH_LEAVE when it cannot be decoded. */
struct branch branch_of_bytes(const uint8_t *bytes, size_t size, uint64_t offset);

/* The same by Zydis alone. */
struct branch branch_of_any(const uint8_t *bytes, size_t size, uint64_t offset);
