/* Signals that reach a thread in the code cache: the program must see its own addresses and
 * registers in the frame, and its handler must run translated. */
#pragma once

#include "tracer/target/tracees.h"

/* The tracee is stopped because `number` is about to be delivered.  Delivers it and lets the
 * tracee go on, unless it has `left` the cache in a way that the caller must deal with.  Returns
 * false when the tracee `exits` or is `late`, or is gone. */
bool interrupt_deliver(struct tracee *tracee, int number);

/* The stop of a tracee that was `late`, with its status.  Where it is that of the step, the tracee
 * goes on; false: it is another one, still to be dealt with. */
bool interrupt_late(struct tracee *tracee, int status);

/* Takes a tracee that is stopped, by no event but PTRACE_EVENT_STOP, out of the code cache and lets
 * it go: it goes on natively, untraced.  False when it `exits` or is `late`, or is gone. */
bool interrupt_release(struct tracee *tracee, int status);

/* Lets a stopped tracee that is outside the cache go; false as above. */
bool interrupt_detach(struct tracee *tracee, int number);
