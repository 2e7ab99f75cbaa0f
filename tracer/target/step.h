/* Stepping a stopped thread to where its registers are the program's own. */
#pragma once

#include "tracer/target/place.h"
#include "tracer/target/tracees.h"

/* Resumes for one step, with signal `number` if not 0; other signals that come are held back.
 * Returns false when the tracee is gone. */
bool step_once(struct tracee *tracee, int number);

/* Steps until `regs`, which it reads, are the program's own; the caller sets them.  `fault` as for
 * place_of.  Returns the place reached (PLACE_CLEAN or PLACE_NATIVE), or PLACE_STEP when the thread
 * is gone.  *moved: it is not where it was stopped any more. */
enum place step_to_program(struct tracee *tracee, struct user_regs_struct *regs, bool fault,
			   bool *moved);

/* The gate looks at arguments of the program that may lie nowhere.  When it faults there it goes on
 * with the system call, and the kernel will say so: true then. */
bool step_mend_peek(struct tracee *tracee, int number);
