/* Signals that reach a thread in the code cache: the program must see its own addresses and
 * registers in the frame, and its handler must run translated. */
#pragma once

#include "tracer/target/tracees.h"

/* The tracee is stopped because `number` is about to be delivered.  Delivers it and lets the
 * tracee go on, unless it has `left` the cache in a way that the caller must deal with.  Returns
 * false when the tracee is gone. */
bool interrupt_deliver(struct tracee *tracee, int number);

/* Takes a running tracee out of the code cache and lets it go: it goes on natively, untraced. */
void interrupt_release(struct tracee *tracee);

/* Lets a stopped tracee that is outside the cache go. */
void interrupt_detach(struct tracee *tracee, int number);
