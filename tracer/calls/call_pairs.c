/* Follows threads into and out of kernels' functions by their stack pointers. */
#include "tracer/calls/call_pairs.h"

#include "base/array.h"

#include <stdlib.h>

void call_pairs_deinit(struct call_pairs *pairs)
{
	free(pairs->threads);
	free(pairs->calls);
	free(pairs->started);
	*pairs = (struct call_pairs){0};
}

static struct pair_thread *find(const struct call_pairs *pairs, uint32_t tid)
{
	for (size_t i = 0; i < pairs->n_threads; i++)
		if (pairs->threads[i].tid == tid)
			return &pairs->threads[i];
	return NULL;
}

static struct pair_thread *find_or_add(struct call_pairs *pairs, uint32_t tid)
{
	const struct pair_thread new = {.tid = tid, .lowest = UINT64_MAX};
	struct pair_thread *known = find(pairs, tid);
	if (known)
		return known;
	if (rf_array_push(pairs->threads, pairs->n_threads, pairs->cap_threads, new))
		return &pairs->threads[pairs->n_threads - 1];
	pairs->memory_is_short = true;
	return NULL;
}

/* Threads that it has started are its starter's. */
static void end_thread(struct call_pairs *pairs, uint32_t tid)
{
	struct pair_thread *thread = find(pairs, tid);
	if (!thread)
		return;
	const uint32_t starter = thread->starter;
	*thread = pairs->threads[--pairs->n_threads];
	for (size_t i = 0; i < pairs->n_threads; i++)
		if (pairs->threads[i].starter == tid)
			pairs->threads[i].starter = starter;
}

static bool starter_calls(const struct call_pairs *pairs, const struct pair_thread *thread)
{
	for (size_t steps = 0; thread && thread->starter && steps < pairs->n_threads; steps++) {
		thread = find(pairs, thread->starter);
		if (thread && thread->is_open)
			return true;
	}
	return false;
}

static void at_entry(struct call_pairs *pairs, struct pair_thread *thread,
		     const struct call_event *event)
{
	if (thread->is_open && event->sp < thread->sp) {
		pairs->nested = true;
		return;
	}
	/* where the stack is no deeper the call before was left in another way */
	thread->is_open = false;
	if (starter_calls(pairs, thread)) {
		pairs->nested = true;
		return;
	}
	thread->is_open = true;
	thread->is_timed = pairs->in_window;
	thread->kernel = event->kernel;
	thread->window = (uint32_t)pairs->n_windows - 1;
	thread->sp = event->sp;
	thread->start = event->time;
	if (thread->is_timed)
		pairs->started[thread->window].n[event->kernel]++;
}

static void at_return(struct call_pairs *pairs, struct pair_thread *thread,
		      const struct call_event *event)
{
	if (!thread->is_open || thread->sp != event->sp || thread->kernel != event->kernel) {
		/* what was taken for calls lay within this one */
		pairs->nested |= thread->lowest < event->sp;
		return;
	}
	const struct timed_call call = {.start = thread->start,
					.ns = event->time - thread->start,
					.kernel = thread->kernel,
					.window = thread->window};
	thread->is_open = false;
	if (!thread->is_timed)
		return;
	thread->lowest = event->sp < thread->lowest ? event->sp : thread->lowest;
	if (!rf_array_push(pairs->calls, pairs->n_calls, pairs->cap_calls, call))
		pairs->memory_is_short = true;
}

/* A window that follows one that was not closed continues it. */
static void begin_window(struct call_pairs *pairs)
{
	if (!rf_array_push(pairs->started, pairs->n_windows, pairs->cap_windows,
			   (struct window_calls){0})) {
		pairs->memory_is_short = true;
		return;
	}
	for (size_t i = 0; !pairs->in_window && i < pairs->n_threads; i++)
		pairs->threads[i].lowest = UINT64_MAX;
	pairs->in_window = true;
}

static void forget(struct call_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n_threads; i++) {
		pairs->threads[i].is_open = false;
		pairs->threads[i].lowest = UINT64_MAX;
	}
}

void call_pairs_take(struct call_pairs *pairs, const struct call_event *event)
{
	struct pair_thread *thread = event->kind >= CALL_BORN && event->kind != CALL_ENDED
					     ? find_or_add(pairs, event->tid)
					     : NULL;
	if (event->kind == CALL_WINDOW)
		begin_window(pairs);
	else if (event->kind == CALL_CLOSE)
		pairs->in_window = false;
	else if (event->kind == CALL_FORGET)
		forget(pairs);
	else if (event->kind == CALL_ENDED)
		end_thread(pairs, event->tid);
	else if (thread && event->kind == CALL_BORN)
		thread->starter = event->kernel;
	else if (thread && event->kind == CALL_ENTRY)
		at_entry(pairs, thread, event);
	else if (thread && event->kind == CALL_RETURN)
		at_return(pairs, thread, event);
}

bool call_pairs_wait(const struct call_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n_threads; i++)
		if (pairs->threads[i].is_open && pairs->threads[i].is_timed)
			return true;
	return false;
}
