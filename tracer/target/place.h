/* Where a thread in the code cache stands, the program's registers there, and stepping it to where
 * they are its own. */
#pragma once

#include "tracer/target/tracees.h"

#include <sys/user.h>

enum place {
	PLACE_NATIVE, /* in the program's own code */
	PLACE_CLEAN,  /* registers are the program's, the pc has been translated back */
	PLACE_STEP,   /* between: step on */
	PLACE_WAIT,   /* in the gate, waiting for an answer */
};

/* Whether pc is at, or right behind, a system call of the program in the gate; *done: it has run.
 */
bool place_at_call(const struct target *target, uint64_t pc, bool *done);

/* Whether the thread was stopped amid a system call of the program's, which is to go on as if there
 * had been no stop: most are run again by the kernel, those that would end with EINTR here.  When
 * the time that such a call may take has passed since it was first run again it ends as one whose
 * time is over.  False also where a signal is held, which interrupts the call. */
bool place_run_again(struct tracee *tracee);
/* The program has been stopped, which ends such a call for good: the EINTR stays. */
void place_end_call(struct tracee *tracee);

/* The stopped thread is about to end wherever it stands: saves the counter that it may have in a
 * register. */
void place_flush(struct target *target, pid_t tid);

/* Resumes for one step, with signal `number` if not 0; other signals that come are held back.
 * Returns false when the tracee ends or is `late`, which says when its registers can be had again.
 */
bool step_once(struct tracee *tracee, int number);

/* A thread that was late may have come to the trap behind its record (gate_stop).  True: the stop
 * is that one, and the thread stands behind the record now.  The trap is gone in any case. */
bool place_leave_trap(struct tracee *tracee);

/* Steps until `regs`, which it reads, are the program's own; the caller sets them.  `fault`: the
 * instruction at pc itself raised the signal, so stepping on is no way out.  Returns the place
 * reached (PLACE_CLEAN or PLACE_NATIVE), or PLACE_STEP when the thread ends or is late.  *moved: it
 * is not where it was stopped any more. */
enum place step_to_program(struct tracee *tracee, struct user_regs_struct *regs, bool fault,
			   bool *moved);

/* Whether the fault that has stopped the thread is that of a translated call or return, which needs
 * a word below the stack pointer that the program's own does not need.  Then `regs` are the
 * program's, behind the transfer; the caller sets them. */
bool place_behind_transfer(struct tracee *tracee, int number, struct user_regs_struct *regs);

/* The gate looks at arguments of the program that may lie nowhere.  When it faults there it goes on
 * with the system call, and the kernel will say so: true then. */
bool step_mend_peek(struct tracee *tracee, int number);
