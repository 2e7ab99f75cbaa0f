/* Follows the calls of allocators in each thread, and tells the objects of the address space which
 * memory is whose. */
#include "tracer/objects/allocator_calls.h"

#include "base/array.h"
#include "tracer/process/allocators.h"

#include <stdlib.h>

#define MAX_PENDING 16 /* calls of allocators within each other */
/* Calls that may come out of one; with more it has been left by an exception. */
#define MAX_NESTED 64

/* A call that has not returned yet. */
struct pending {
	struct allocator_call call;
	uint64_t call_site; /* behind the outermost call */
	bool is_inner;      /* another one gives the block */
	unsigned n_nested;
	struct interval moved; /* realloc: the block that was there before; all zero: none */
	uint32_t mapping;      /* mremap: the object that was there before */
};

struct thread_calls {
	struct pending pending[MAX_PENDING];
	int n;
};

void allocator_calls_deinit(struct allocator_calls *calls)
{
	free(calls->threads);
}

/* NULL when memory is short. */
static struct thread_calls *calls_of(struct allocator_calls *calls, uint32_t thread)
{
	while (calls->n_threads <= thread)
		if (!rf_array_push(calls->threads, calls->n_threads, calls->cap_threads,
				   (struct thread_calls){.n = 0}))
			return NULL;
	return &calls->threads[thread];
}

static bool awaits_result(const struct pending *pending)
{
	return allocators[pending->call.function].action != ALLOCATOR_WRAPS;
}

/* Frames that are gone: the stack has been unwound past them.  One at the very same place has made
 * way for what it jumped to at its end. */
static void drop_gone(struct allocator_calls *calls, struct thread_calls *thread,
		      uint64_t stack_pointer)
{
	while (thread->n && thread->pending[thread->n - 1].call.stack_pointer <= stack_pointer) {
		const struct pending *gone = &thread->pending[--thread->n];
		calls->n_unseen += gone->call.stack_pointer < stack_pointer && !gone->is_inner &&
				   awaits_result(gone);
	}
}

static uint64_t argument(const struct allocator_call *call, uint8_t number)
{
	return number == NO_ARGUMENT ? 1 : call->arguments[number];
}

static uint64_t size_wanted(const struct allocator_call *call)
{
	const struct allocator *function = &allocators[call->function];
	uint64_t size;
	if (__builtin_mul_overflow(argument(call, function->size), argument(call, function->times),
				   &size))
		return 0;
	return size;
}

/* What happens when the function begins: memory that is given back may be somebody else's before it
 * returns, and what moves is there only now. */
static void begin_call(struct objects *objects, struct pending *pending)
{
	const struct allocator *function = &allocators[pending->call.function];
	const uint64_t address = argument(&pending->call, function->pointer);
	switch (function->action) {
	case ALLOCATOR_TAKES:
		objects_freed(objects, address);
		break;
	case ALLOCATOR_UNMAPS:
		objects_unmapped(objects, address, argument(&pending->call, function->size));
		break;
	case ALLOCATOR_REMAPS:
		pending->mapping = objects_mapping(objects, address);
		break;
	case ALLOCATOR_CHANGES:
		if (!pending->is_inner)
			pending->moved = objects_freed(objects, address);
		break;
	default:
		break;
	}
}

/* Whether a call comes out of the one that is pending: it is deeper on the same stack.  Handlers
 * and callbacks of the program that allocate in there are taken for it. */
static bool comes_out_of(struct pending *outer, const struct allocator_call *call)
{
	return outer->call.stack_pointer > call->stack_pointer &&
	       outer->call.stack_pointer - call->stack_pointer < 1u << 16 &&
	       outer->n_nested++ < MAX_NESTED;
}

/* The call that belongs to one that begins now, as the calls that are pending show: one that comes
 * out of another, or that another has jumped to at its end, belongs to that one's caller. */
static struct pending pending_of(struct allocator_calls *calls, struct thread_calls *thread,
				 const struct allocator_call *call)
{
	struct pending new = {.call = *call, .call_site = call->return_address};
	const struct pending *last = thread->n ? &thread->pending[thread->n - 1] : NULL;
	if (last && last->call.stack_pointer == call->stack_pointer &&
	    last->call.return_address == call->return_address) {
		new.is_inner = last->is_inner;
		new.call_site = last->call_site;
	}
	drop_gone(calls, thread, call->stack_pointer);
	struct pending *outer = thread->n ? &thread->pending[thread->n - 1] : NULL;
	if (outer && comes_out_of(outer, call)) {
		new.call_site = outer->call_site;
		new.is_inner = outer->is_inner || awaits_result(outer);
	}
	return new;
}

void allocator_calls_enter(struct allocator_calls *calls, const struct allocator_call *call)
{
	struct thread_calls *thread = calls_of(calls, call->thread);
	if (!thread || call->function >= n_allocators)
		return;
	struct pending new = pending_of(calls, thread, call);
	begin_call(calls->objects, &new);
	if (!allocator_returns(&allocators[call->function]))
		return;
	if (thread->n == MAX_PENDING)
		thread->n = 0;
	thread->pending[thread->n++] = new;
}

static void end_call(struct objects *objects, const struct pending *pending, uint64_t result)
{
	const struct allocator_call *call = &pending->call;
	const struct allocator *function = &allocators[call->function];
	const bool failed = (int64_t)result < 0 && (int64_t)result >= -4096;
	const bool gives =
		function->action == ALLOCATOR_GIVES || function->action == ALLOCATOR_CHANGES;
	const uint64_t size = gives ? size_wanted(call) : 0;
	if (function->action == ALLOCATOR_MAPS && !failed)
		objects_mapped(objects, result, argument(call, function->size),
			       pending->is_inner ? 0 : pending->call_site);
	else if (function->action == ALLOCATOR_REMAPS && !failed)
		/* blocks go with their mapping: the allocator that asked for it will say so itself
		 */
		objects_moved(objects, pending->mapping, call->arguments[0], call->arguments[1],
			      result, call->arguments[2]);
	else if (gives && !pending->is_inner && result)
		objects_allocated(objects, result, size, pending->call_site);
	else if (gives && !pending->is_inner && pending->moved.end && size)
		/* refused: the old block is still there */
		objects_not_freed(objects, &pending->moved);
}

void allocator_calls_leave(struct allocator_calls *calls, uint32_t thread_number,
			   uint64_t stack_pointer, uint64_t result)
{
	struct thread_calls *thread = calls_of(calls, thread_number);
	if (!thread || !stack_pointer)
		return;
	drop_gone(calls, thread, stack_pointer - 1);
	if (!thread->n || thread->pending[thread->n - 1].call.stack_pointer != stack_pointer)
		return;
	const struct pending pending = thread->pending[--thread->n];
	end_call(calls->objects, &pending, result);
}
