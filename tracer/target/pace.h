/* Signals that wait, so that the program gets on. */
#pragma once

#include "tracer/target/tracees.h"

/* Whether a signal that is about to be delivered is held back instead. */
bool pace_holds_back(struct tracee *tracee, int number, const siginfo_t *info);
/* The thread will be stopped when the next signal may come. */
void pace_stop_later(struct tracee *tracee);
/* Natively all that is pending at the end of a system call comes before the program goes on.  Here
 * some comes only when the handler of another returns; what is noted now is not held back then. */
void pace_note_owed(struct tracee *tracee);
