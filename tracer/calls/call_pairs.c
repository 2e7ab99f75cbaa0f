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
	return call_starters_find(pairs->threads, pairs->n_threads, sizeof(*pairs->threads), tid);
}

/* `is_new`: it has just begun.  Others have been there as long as calls can be seen. */
static struct pair_thread *find_or_add(struct call_pairs *pairs, uint32_t tid, bool is_new)
{
	const struct pair_thread new = {.known.tid = tid,
					.lowest = UINT64_MAX,
					.may_be_in = is_new ? 0 : pairs->unseen};
	struct pair_thread *known = find(pairs, tid);
	if (known)
		return known;
	if (rf_array_push(pairs->threads, pairs->n_threads, pairs->cap_threads, new))
		return &pairs->threads[pairs->n_threads - 1];
	pairs->memory_is_short = true;
	return NULL;
}

/* ---- calls that have begun unseen ---- */

/* A thread that is there from now on was there before. */
static void at_unseen(struct call_pairs *pairs, const struct call_event *event)
{
	const uint8_t bit = (uint8_t)(1u << event->kernel);
	(void)find_or_add(pairs, event->tid, false);
	pairs->unseen |= bit;
	pairs->unseen_alone &= (uint8_t)~bit;
	pairs->unseen_alone |= event->ends_at_back ? bit : 0;
	pairs->seen_since[event->kernel] = event->time;
	pairs->unseen_ns[event->kernel] += (event->time - event->mapped) * pairs->n_threads;
	for (size_t i = 0; i < pairs->n_threads; i++)
		pairs->threads[i].may_be_in |= bit;
}

/* The thread is in no such call of a kernel any more.  `was_in`: it may have been until now. */
static void leave_unseen(struct call_pairs *pairs, struct pair_thread *thread, uint32_t kernel,
			 bool was_in, uint64_t now)
{
	const uint8_t bit = (uint8_t)(1u << kernel);
	if (thread->may_be_in & bit && was_in && now > pairs->seen_since[kernel])
		pairs->unseen_ns[kernel] += now - pairs->seen_since[kernel];
	thread->may_be_in &= (uint8_t)~bit;
}

/* Such a call has returned. */
static void end_unseen(struct call_pairs *pairs, struct pair_thread *thread, uint32_t kernel,
		       uint64_t now)
{
	const uint64_t before = pairs->unseen_ns[kernel];
	leave_unseen(pairs, thread, kernel, true, now);
	pairs->unseen_least_ns[kernel] += pairs->unseen_ns[kernel] - before;
}

/* Of functions whose returns are not looked out for: the call may have gone on to the end. */
static void leave_all_unseen(struct call_pairs *pairs, struct pair_thread *thread, uint64_t now)
{
	for (uint32_t k = 0; thread->may_be_in && k < MOST_TIMED_KERNELS; k++)
		leave_unseen(pairs, thread, k, pairs->unseen_alone >> k & 1, now);
}

void call_pairs_end(struct call_pairs *pairs, uint64_t now)
{
	for (size_t i = 0; i < pairs->n_threads; i++)
		leave_all_unseen(pairs, &pairs->threads[i], now);
}

/* ---- threads and calls ---- */

static void end_thread(struct call_pairs *pairs, uint32_t tid, uint64_t now)
{
	struct pair_thread *thread = find(pairs, tid);
	if (!thread)
		return;
	leave_all_unseen(pairs, thread, now);
	call_starters_end(pairs->threads, &pairs->n_threads, sizeof(*thread), &thread->known);
}

static bool starter_calls(const struct call_pairs *pairs, const struct pair_thread *thread)
{
	return call_starters_call(pairs->threads, pairs->n_threads, sizeof(*thread),
				  &thread->known);
}

/* Whether the open call has gone on in another kernel's function by a jump.  Where it had returned
 * that would have been seen. */
static bool is_jumped_to(const struct pair_thread *thread, const struct call_event *event)
{
	return thread->ends_at_back && event->sp == thread->sp && event->kernel != thread->kernel &&
	       event->return_to == thread->return_to;
}

static void open_call(struct call_pairs *pairs, struct pair_thread *thread,
		      const struct call_event *event)
{
	const bool is_early = event->end == CALL_ENDS_EARLY;
	thread->known.is_open = true;
	thread->is_timed = pairs->in_window;
	thread->is_early = is_early;
	thread->ends_at_back = event->ends_at_back;
	thread->kernel = event->kernel;
	thread->window = (uint32_t)pairs->n_windows - 1;
	thread->sp = event->sp;
	thread->return_to = event->return_to;
	thread->start = event->time;
	thread->ready_ns = 0;
	if (thread->is_timed && is_early)
		pairs->n_early[event->kernel]++;
	else if (thread->is_timed)
		pairs->started[thread->window].n[event->kernel]++;
}

static void at_entry(struct call_pairs *pairs, struct pair_thread *thread,
		     const struct call_event *event)
{
	leave_unseen(pairs, thread, event->kernel, event->ends_at_back, event->time);
	if (thread->known.is_open && (event->sp < thread->sp || is_jumped_to(thread, event))) {
		pairs->nested = true;
		return;
	}
	/* where the stack is no deeper the call before was left in another way */
	thread->known.is_open = false;
	if (starter_calls(pairs, thread)) {
		pairs->nested = true;
		return;
	}
	if (event->end != CALL_ENDS_UNSEEN) {
		open_call(pairs, thread, event);
	} else if (pairs->in_window) {
		pairs->n_unseen[event->kernel]++;
		pairs->started[pairs->n_windows - 1].n[event->kernel]++;
	}
}

static bool is_end(const struct pair_thread *thread, const struct call_event *event)
{
	const bool at_back = event->kind == CALL_BACK;
	if (!thread->known.is_open || thread->ends_at_back != at_back)
		return false;
	return at_back ? thread->sp + sizeof(uint64_t) == event->sp &&
				 thread->return_to == event->return_to
		       : thread->sp == event->sp && thread->kernel == event->kernel;
}

static void at_return(struct call_pairs *pairs, struct pair_thread *thread,
		      const struct call_event *event)
{
	if (!is_end(thread, event)) {
		if (event->kind == CALL_RETURN || event->ends_at_back)
			end_unseen(pairs, thread, event->kernel, event->time);
		/* what was taken for calls lay within this one */
		pairs->nested |= thread->lowest <
				 event->sp - (event->kind == CALL_BACK ? sizeof(uint64_t) : 0);
		return;
	}
	const struct timed_call call = {.start = thread->start,
					.ns = event->time - thread->start,
					.ready_ns = thread->ready_ns,
					.kernel = thread->kernel,
					.window = thread->window};
	thread->known.is_open = false;
	if (!thread->is_timed)
		return;
	if (thread->is_early) {
		pairs->n_early[call.kernel]--;
		pairs->started[call.window].n[call.kernel]++;
	}
	thread->lowest = thread->sp < thread->lowest ? thread->sp : thread->lowest;
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
		struct pair_thread *thread = &pairs->threads[i];
		if (thread->known.is_open && thread->is_timed && !thread->is_early &&
		    thread->preempted) {
			pairs->started[thread->window].n[thread->kernel]--;
			pairs->started[thread->window].cut[thread->kernel]++;
		}
		thread->known.is_open = false;
		thread->lowest = UINT64_MAX;
		thread->preempted = 0; /* nothing is seen of it until breakpoints are on again */
	}
}

static void resume(struct pair_thread *thread, uint64_t now)
{
	if (thread->preempted)
		thread->ready_ns += now - thread->preempted;
	thread->preempted = 0;
}

void call_pairs_take(struct call_pairs *pairs, const struct call_event *event)
{
	struct pair_thread *thread =
		event->kind == CALL_BORN || event->kind >= CALL_ENTRY
			? find_or_add(pairs, event->tid, event->kind == CALL_BORN)
			: find(pairs, event->tid);
	if (event->kind == CALL_WINDOW)
		begin_window(pairs);
	else if (event->kind == CALL_CLOSE)
		pairs->in_window = false;
	else if (event->kind == CALL_FORGET)
		forget(pairs);
	else if (event->kind == CALL_ENDED)
		end_thread(pairs, event->tid, event->time);
	else if (event->kind == CALL_UNSEEN)
		at_unseen(pairs, event);
	else if (thread && event->kind == CALL_BORN)
		thread->known.starter = event->kernel;
	else if (thread && event->kind == CALL_PREEMPTED)
		thread->preempted = event->time;
	else if (thread && event->kind == CALL_RESUMED)
		resume(thread, event->time);
	else if (thread && event->kind == CALL_ENTRY)
		at_entry(pairs, thread, event);
	else if (thread && (event->kind == CALL_RETURN || event->kind == CALL_BACK))
		at_return(pairs, thread, event);
}

bool call_pairs_wait(const struct call_pairs *pairs)
{
	for (size_t i = 0; i < pairs->n_threads; i++)
		if (pairs->threads[i].known.is_open && pairs->threads[i].is_timed)
			return true;
	return false;
}
