/* What threads record while kernels are called, kept until the calls have ended: what a call is
 * about to use is known only then (--caches=warm, docs/kernels.md).
 *
 * Records are bytes here, and threads are told by a pointer; what they mean is the drain's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum held_kind {
	HELD_RECORDS, /* a thread has recorded something */
	HELD_ENTER,   /* it calls a kernel */
	HELD_LEAVE,   /* that call ends */
	HELD_END,     /* the thread has ended */
};

struct held_event {
	enum held_kind kind;
	void *thread;
	void *records; /* HELD_RECORDS: owned by the event */
	size_t n;      /* so many */
	bool is_burst;
	uint64_t stamp; /* cycles of the time-stamp counter: when it was */
};

struct held_calls {
	struct held_event *events; /* in the order of time */
	size_t n_events, cap_events;
	uint64_t bytes;     /* of their records */
	uint64_t most;      /* so many may be kept */
	size_t n_open;      /* calls that have not ended */
	uint64_t n_entered; /* calls, in all, */
	uint64_t n_cut;     /* of which so many had not ended when what was kept was taken */
};

/* Nothing is kept.  `most`: bytes of records. */
void held_calls_init(struct held_calls *held, uint64_t most);
void held_calls_deinit(struct held_calls *held);

/* Adds an event, with a copy of its records of `size` bytes each, and opens or ends a call.  False,
 * and it is not kept: memory is short, or the records would be too many. */
bool held_calls_add(struct held_calls *held, const struct held_event *event, size_t size);

/* Where the call that begins with event `enter` ends: its HELD_LEAVE, or behind the last event. */
size_t held_calls_end(const struct held_calls *held, size_t enter);

/* All that is kept has been taken; calls that are open count as cut, and none is open then. */
void held_calls_clear(struct held_calls *held);
