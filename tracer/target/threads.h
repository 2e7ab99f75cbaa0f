/* The threads of a target and their slots. */
#pragma once

#include "tracer/target/target.h"

/* Takes a slot for a thread; returns its GS base in the target, or 0 when all are taken. */
uint64_t target_add_thread(struct target *target, pid_t tid, const char *name);
/* Its stack pointer, before it runs. */
void target_set_stack(struct target *target, pid_t tid, uint64_t stack_pointer);
/* Collects the counts of a thread that is gone, if it has a slot. */
void target_remove_thread(struct target *target, pid_t tid);
/* The same for all that are left.  The lock is held by the caller. */
void target_collect_threads(struct target *target);
