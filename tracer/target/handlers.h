/* Which signals have a handler. */
#pragma once

#include "tracer/target/tracees.h"

/* Whether the program has a handler for that signal. */
bool handlers_has(struct tracee *tracee, int number);

/* Whether a signal is in a set of the kernel's ("SigBlk", "SigPnd", "SigCgt" of
 * /proc/PID/status).  What is read there is what holds now: ptrace would show the mask that a
 * sigsuspend is to restore. */
bool handlers_in_set(pid_t tid, const char *name, int number);
