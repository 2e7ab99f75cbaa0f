/* Chains of threads that have started each other. */
#include "tracer/calls/call_starters.h"

#include <string.h>

static struct started_thread *at(const void *threads, size_t size, size_t i)
{
	return (struct started_thread *)((char *)threads + i * size);
}

void *call_starters_find(const void *threads, size_t n, size_t size, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (at(threads, size, i)->tid == tid)
			return at(threads, size, i);
	return NULL;
}

/* Numbers of threads are given anew, so that a chain may be a circle: it has no more steps than
 * there are threads. */
bool call_starters_call(const void *threads, size_t n, size_t size,
			const struct started_thread *thread)
{
	for (size_t steps = 0; thread && thread->starter && steps < n; steps++) {
		thread = call_starters_find(threads, n, size, thread->starter);
		if (thread && thread->is_open)
			return true;
	}
	return false;
}

void call_starters_end(void *threads, size_t *n, size_t size, struct started_thread *thread)
{
	const uint32_t tid = thread->tid, starter = thread->starter;
	const struct started_thread *last = at(threads, size, --*n);
	if (thread != last)
		memcpy(thread, last, size);
	for (size_t i = 0; i < *n; i++)
		if (at(threads, size, i)->starter == tid)
			at(threads, size, i)->starter = starter;
}
