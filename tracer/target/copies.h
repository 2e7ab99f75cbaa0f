/* The two copies of the code of a traced process.
 *
 * In the first one accesses to memory are checked and recorded.  The second, plain one only counts,
 * and notes calls of allocators.  Both count exactly, and what the program does is the same in
 * either; a thread changes from the one to the other where its registers are the program's own, at
 * times that windows.h chooses.  The plain copy is made when it is wanted first. */
#pragma once

#include "tracer/target/target.h"

/* A copy that has nothing yet, but its memory, gets what is kept of the program
 * (stock/stock.h). */
void copies_inherit(struct target *target, enum copy copy);
/* The target is gone, but for its memory: keeps what its copies have.  The lock is held by the
 * caller. */
void copies_keep(struct target *target);

/* Has the slot's thread stopped, so that it changes to the copy that is wanted: at once, or behind
 * the system call that it is in, which nothing interrupts.  The lock is held by the caller. */
void copies_ask(struct target *target, int slot);

/* Whether the slot's thread runs the plain copy and asks for code at pc that no window has met. */
bool copies_is_new(struct target *target, int slot, uint64_t pc);
/* A thread that waits in the gate for code that is not in the plain copy changes to the first one
 * before it is answered.  The lock is held by the caller. */
void copies_enter_first(struct target *target, int slot);

/* The slot's thread, which does not run, or waits in the gate, is in that copy from now on; what it
 * has recorded, and what it waits for, goes along.  The lock is held by the caller. */
void copies_change(struct target *target, int slot, enum copy copy);
