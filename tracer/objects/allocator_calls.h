/* Calls of allocators, as the code cache records them (tracer/process/allocators.h), and what they
 * do to the objects of their address space.
 *
 * Allocators call each other: a block belongs to the outermost call, from the program's own code.
 * What a function gives is known when it returns, which it may never do. */
#pragma once

#include "tracer/objects/objects.h"

struct allocator_call {
	uint32_t thread;   /* any small number that the thread has as long as it lives */
	uint32_t function; /* in `allocators` */
	uint64_t return_address, stack_pointer; /* at its first instruction */
	uint64_t arguments[3];                  /* as many as the table says */
};

/* Of one address space; all zero but `objects` at first. */
struct allocator_calls {
	struct objects *objects;
	struct thread_calls *threads;
	size_t n_threads, cap_threads;
	uint64_t n_unseen; /* calls whose result was not seen, because the function was left
			      otherwise */
};

void allocator_calls_deinit(struct allocator_calls *calls);

/* A function begins.  What there is no memory for is not followed. */
void allocator_calls_enter(struct allocator_calls *calls, const struct allocator_call *call);
/* The same thread returns from the call that was entered with that stack pointer. */
void allocator_calls_leave(struct allocator_calls *calls, uint32_t thread, uint64_t stack_pointer,
			   uint64_t result);
