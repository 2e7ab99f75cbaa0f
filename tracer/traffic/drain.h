/* Takes the records of traced accesses out of the rings of all threads, in the order in which they
 * were handed over, and simulates them in one hierarchy of caches for the whole process tree.
 *
 * A thread of its own does so; a thread that waits for room in its ring goes on when it has.
 * Callers may hold the lock of the run: the drain takes none but its own. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/objects/object_world.h"
#include "tracer/process/told_threads.h"
#include "tracer/traffic/trace_ring.h"
#include "tracer/traffic/traffic_options.h"
#include "tracer/translate/trace_config.h"

#include <pthread.h>

struct drain;
struct drain_source;
struct named_functions;

/* The hierarchy that the options ask for.  Facts about it go into the profile, also when nothing
 * can be traced: then *out is NULL.  Errors: the geometry is none. */
struct rf_error *drain_create(const struct traffic_options *options, struct profile *profile,
			      struct drain **out);
/* The classes of lines that are simulated. */
uint64_t drain_classes(const struct drain *drain);

/* A number for an address space, whose lines are not those of another.  `world`: what the system
 * shows of it, owned by the drain from now on; or NULL: whose data moves there is not asked. */
uint32_t drain_new_space(struct drain *drain, struct object_world *world);
/* The allocators in all files of the run; used under the lock of the run. */
struct named_functions *drain_allocators(struct drain *drain);

/* Each instruction has an account in each thread: whether there are so many that traffic of more
 * threads should be told of others (told_threads.h). */
bool drain_has_many(struct drain *drain);
/* Adds a thread that has not run since its slot was made ready; `thread`: its row; `told`: the one
 * that its traffic is told of. NULL when memory is short: then it is not traced. */
struct drain_source *drain_add_thread(struct drain *drain, struct trace_config *config,
				      uint8_t *slot, uint64_t slot_address, uint32_t thread,
				      uint32_t told, uint32_t space);
/* Its thread, which has not run yet, has its stack there. */
void drain_set_stack(struct drain_source *source, uint64_t stack_pointer);
/* Adds a few records in the place of its thread, which is stopped outside the gate. */
void drain_add_records(struct drain *drain, struct drain_source *source,
		       const struct trace_record *records, size_t n);
/* What its thread, which waits in the gate between two blocks or has not run, accesses from now on
 * is of that row: its own, or a share (profile_kernels.h). */
void drain_set_share(struct drain *drain, struct drain_source *source, uint32_t row);
/* The same where its thread calls a kernel and works for none yet.  Where caches are asked to be
 * cold they are empty from here on, for all threads.  Where they are to be warm, they have what all
 * threads use for kernels from here until drain_leave_kernel: what is recorded meanwhile is held
 * until then. */
void drain_enter_kernel(struct drain *drain, struct drain_source *source, uint32_t row);
/* The same where that call has ended. */
void drain_leave_kernel(struct drain *drain, struct drain_source *source, uint32_t row);
/* Executions of a thread's instructions while it counted for a row, by their numbers, with checks,
 * since it began. */
struct drain_executions {
	uint32_t row;
	const double *items;
};
/* Its thread, which is stopped outside the gate, goes on without checks.  All that it has recorded
 * is simulated when this returns.  `executions`: for each of its rows, n of them, of n_numbers
 * instructions; none: not known, and the window is one with the next. */
void drain_end_window(struct drain *drain, struct drain_source *source,
		      const struct drain_executions *executions, size_t n, uint32_t n_numbers);
/* And goes on with checks, in the window of time of that number; `by_chance` as in
 * accounts_end_window. */
void drain_begin_window(struct drain *drain, struct drain_source *source, uint32_t number,
			bool by_chance);
/* Its thread runs no more: all that it has recorded is simulated when this returns, or held. */
void drain_remove_thread(struct drain *drain, struct drain_source *source);

/* Ends the simulation; the counts become rows of the profile, which nobody else uses meanwhile. */
void drain_finish(struct drain *drain, const struct told_threads *told);
void drain_destroy(struct drain *drain);
