/* How an instruction hands control on. */
#pragma once

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
