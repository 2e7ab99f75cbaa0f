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
	for (size_t i = 0; i < depth->n_threads; i++)
		if (depth->threads[i].tid == tid)
			return &depth->threads[i];
	return NULL;
}

struct call_thread *call_depth_begin(struct call_depth *depth, pid_t tid, pid_t starter)
{
	const struct call_thread new = {.tid = tid, .starter = starter};
	struct call_thread *known = call_depth_thread(depth, tid);
	if (known) { /* its first stop was seen before its starter's */
		known->starter = starter ? starter : known->starter;
		return known;
	}
	return rf_array_push(depth->threads, depth->n_threads, depth->cap_threads, new)
		       ? &depth->threads[depth->n_threads - 1]
		       : NULL;
}

void call_depth_end(struct call_depth *depth, pid_t tid)
{
	struct call_thread *thread = call_depth_thread(depth, tid);
	if (!thread)
		return;
	const pid_t starter = thread->starter;
	*thread = depth->threads[--depth->n_threads];
	for (size_t i = 0; i < depth->n_threads; i++)
		if (depth->threads[i].starter == tid)
			depth->threads[i].starter = starter;
}

static bool starter_calls(const struct call_depth *depth, const struct call_thread *thread)
{
	for (size_t steps = 0; thread->starter && steps < depth->n_threads; steps++) {
		thread = call_depth_thread(depth, thread->starter);
		if (!thread)
			return false;
		if (thread->call.is_open)
			return true;
	}
	return false;
}

bool call_depth_enters(struct call_depth *depth, struct call_thread *thread, uint64_t sp,
		       uint64_t return_to, uint64_t top)
{
	const struct open_call *call = &thread->call;
	if (call->is_open && sp < call->sp && top == call->return_to)
		return false;
	thread->call.is_open = false;
	if (starter_calls(depth, thread))
		return false;
	thread->call.is_open = true;
	thread->call.sp = sp;
	thread->call.return_to = return_to;
	return true;
}

bool call_depth_returns(const struct call_thread *thread, uint64_t sp)
{
	return thread->call.is_open && sp > thread->call.sp;
}
