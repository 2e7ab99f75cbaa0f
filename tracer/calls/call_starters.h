/* Threads of the timed run: which thread has started each, and whether one of these is in a call of
 * a kernel, for which it then works (docs/kernels.md, "What belongs to a call").
 *
 * The caller has an array of its own of threads, whose elements begin with a struct started_thread;
 * `size` is that of an element. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct started_thread {
	uint32_t tid, starter; /* starter: the number of another one, or 0 */
	bool is_open;          /* it is in a call of its own */
};

/* The element of that thread, or NULL. */
void *call_starters_find(const void *threads, size_t n, size_t size, uint32_t tid);
/* Whether a thread that has started `thread`, at whatever distance, is in a call. */
bool call_starters_call(const void *threads, size_t n, size_t size,
			const struct started_thread *thread);
/* `thread`, one of them, has ended: those that it has started are its starter's, and the last
 * element takes its place. */
void call_starters_end(void *threads, size_t *n, size_t size, struct started_thread *thread);
