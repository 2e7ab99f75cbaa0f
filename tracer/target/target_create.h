/* How targets and their threads begin and end. */
#pragma once

#include "base/error.h"
#include "tracer/target/target.h"

/* Prepares the process `tid`, stopped at the end of its execve or fork, for counting, and sets its
 * registers so that it goes on in the code cache.  On failure the process is as it was.  `lock`
 * guards the profile, `told` (its threads), and all targets of a run; the caller does not hold it.
 * `drain`: takes the records of its accesses, or NULL.  `kernels`: those to look out for, or NULL.
 * `stock`: what the run's processes translate, or NULL.  `span`: of the run that is measured, or
 * NULL: all. */
struct rf_error *target_create(pid_t tid, struct module_files *files, struct profile *profile,
			       struct told_threads *told, struct drain *drain,
			       struct kernel_files *kernels, struct stock *stock, struct span *span,
			       pthread_mutex_t *lock, struct target **out);
void target_destroy(struct target *target);

/* Stops the server and collects the counts of all threads into the profile; frees what only a
 * running target needs.  The map of addresses stays, unless this is the last that is asked of it.
 */
void target_finish(struct target *target, bool is_last);

/* Takes a slot for a thread; returns its GS base in the target, or 0 when all are taken.
 * `stack_pointer`: before it runs; 0: not known.  `starter`: the slot of the thread that has
 * started it, or 0. */
uint64_t target_add_thread(struct target *target, pid_t tid, const char *name,
			   uint64_t stack_pointer, int starter);
/* A thread that stands at its end (PTRACE_EVENT_EXIT): notes how long it ran natively. */
void target_note_end(struct target *target, pid_t tid);
/* Collects the counts of a thread that is gone, if it has a slot. */
void target_remove_thread(struct target *target, pid_t tid);
