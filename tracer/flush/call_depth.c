/* Follows threads into kernels by their stack pointers. */
#include "tracer/flush/call_depth.h"

#include "base/array.h"

#include <stdlib.h>

void call_depth_deinit(struct call_depth *depth)
{
	free(depth->threads);
	*depth = (struct call_depth){0};
}

struct call_thread *call_depth_thread(const struct call_depth *depth, pid_t tid)
{
	return call_starters_find(depth->threads, depth->n_threads, sizeof(*depth->threads),
				  (uint32_t)tid);
}

struct call_thread *call_depth_begin(struct call_depth *depth, pid_t tid, pid_t starter)
{
	const struct call_thread new = {.known = {(uint32_t)tid, (uint32_t)starter, false}};
	struct call_thread *known = call_depth_thread(depth, tid);
	if (known) { /* its first stop was seen before its starter's */
		known->known.starter = starter ? (uint32_t)starter : known->known.starter;
		return known;
	}
	return rf_array_push(depth->threads, depth->n_threads, depth->cap_threads, new)
		       ? &depth->threads[depth->n_threads - 1]
		       : NULL;
}

void call_depth_end(struct call_depth *depth, pid_t tid)
{
	struct call_thread *thread = call_depth_thread(depth, tid);
	if (thread)
		call_starters_end(depth->threads, &depth->n_threads, sizeof(*thread),
				  &thread->known);
}

static bool starter_calls(const struct call_depth *depth, const struct call_thread *thread)
{
	return call_starters_call(depth->threads, depth->n_threads, sizeof(*thread),
				  &thread->known);
}

bool call_depth_enters(struct call_depth *depth, struct call_thread *thread, uint64_t sp,
		       uint64_t return_to, uint64_t top)
{
	const struct open_call *call = &thread->call;
	if (thread->known.is_open && sp < call->sp && top == call->return_to)
		return false;
	thread->known.is_open = false;
	if (starter_calls(depth, thread))
		return false;
	thread->known.is_open = true;
	thread->call.sp = sp;
	thread->call.return_to = return_to;
	return true;
}

bool call_depth_returns(const struct call_thread *thread, uint64_t sp)
{
	return thread->known.is_open && sp > thread->call.sp;
}
