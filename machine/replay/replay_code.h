/* The instructions of one turn of a program's loop as code that can be run again and again by
 * itself.
 *
 * Several turns lie one behind the other, each instruction at the same place within a line of 64
 * bytes as in the program and with the same bytes: fetching, decoding and fusing go on as there.
 * Branches are resolved: a conditional one keeps its condition, but both its ways lead to what came
 * next in the program; where it must be taken to get there its other way is a jump.  Operands
 * relative to the instruction pointer lie in an area of their own.  Behind the turns a register
 * that the loop does not use counts them, or a place in memory. */
#pragma once

#include "insn/way.h"
#include "machine/core/form_code.h"
#include "machine/data/loop_replay.h"

/* Places that are known beforehand, below 2 GiB so that 32 bits name them. */
#define REPLAY_CODE UINT64_C(0x40000000)
#define REPLAY_CODE_BYTES ((size_t)1 << 16)
#define REPLAY_STATE (REPLAY_CODE + 0x100000) /* struct replay_state */
#define REPLAY_RELATIVE (REPLAY_CODE + 0x1000000)
#define REPLAY_LINES (REPLAY_CODE + 0x2000000) /* of REPLAY_ONE_LINE: the loads', the stores' */
#define REPLAY_REGISTERS UINT64_C(0x10000000)  /* what general registers hold, and apart */
#define REPLAY_POINTER UINT64_C(0x20000040)    /* what memory holds where it holds no numbers */

/* What the code begins with and keeps. */
struct replay_state {
	uint64_t stack, passes, repeats, left;
	uint64_t general[16];
	uint8_t ones[64];
	uint8_t vector[64];
};

/* A conditional branch in the code. */
struct replay_branch {
	uint32_t at;   /* of its opcode's last byte, whose lowest bit turns the condition round */
	uint32_t pc;   /* of the instruction */
	bool is_taken; /* on the way */
};

#define REPLAY_MOST_STEPS 1024
#define REPLAY_MOST_COPIES 32

struct replay_code {
	uint8_t bytes[REPLAY_CODE_BYTES]; /* a function void (uint64_t passes, uint64_t repeats) */
	size_t size;
	struct replay_branch branches[REPLAY_MOST_STEPS * 2];
	size_t n_branches;
	unsigned copies; /* turns in a row: a pass has `repeats` times as many */
	bool single;     /* numbers are of single precision */
	bool is_wide;    /* it computes with 512 bits */
	size_t from, to; /* where the turns are in `bytes` */
};

/* Makes the code of `n` steps; else says why not. */
enum replay_why replay_code_make(const struct way_step *steps, size_t n,
				 enum replay_variant variant, struct replay_code *out);
