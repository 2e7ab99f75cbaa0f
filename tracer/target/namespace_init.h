/* The first process of a pid namespace, and its own faults.
 *
 * The kernel keeps it alive: signals without a handler do nothing to it, but for those of its own
 * faults.  These end it only when it is not traced (force_sig_info_to_task in kernel/signal.c);
 * under ptrace it would fault for ever.  So it is let go where it stands, and faults once more. */
#pragma once

#include "tracer/target/tracees.h"

/* Whether the signal, which has stopped the tracee, would end it if it was not traced. */
bool namespace_init_ends(struct tracee *tracee, int number, const siginfo_t *info);

/* Gives the tracee, which is stopped by signal `number` of its own, the program's registers where
 * it raises the signal again; it leaves as LEAVES_TO_END says.  False when it is gone. */
bool namespace_init_leave(struct tracee *tracee, int number);
