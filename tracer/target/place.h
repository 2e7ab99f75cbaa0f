/* Where a thread in the code cache stands, and the program's registers there. */
#pragma once

#include "tracer/target/target.h"

#include <sys/user.h>

enum place {
	PLACE_NATIVE, /* in the program's own code */
	PLACE_CLEAN,  /* registers are the program's, the pc has been translated back */
	PLACE_STEP,   /* between: step on */
	PLACE_WAIT,   /* in the gate, waiting for an answer */
};

/* Translates the registers of a stopped thread back to the program's where that is possible at this
 * point; what will be counted again is taken back then.  `fault`: the instruction at pc itself
 * raised the signal, so stepping on is no way out.  The lock is held by the caller. */
enum place place_of(struct target *target, uint8_t *slot, struct user_regs_struct *regs,
		    bool fault);

/* Whether pc is at, or right behind, a system call of the program in the gate; *done: it has run.
 */
bool place_at_call(const struct target *target, uint64_t pc, bool *done);

/* The stopped thread is about to end wherever it stands: saves the counter that it may have in a
 * register. */
void place_flush(struct target *target, pid_t tid);
