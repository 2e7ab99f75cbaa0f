/* Pairs what breakpoints at the entries and returns of kernels' functions tell into calls.
 *
 * Events come in the order of their times.  At its entry a function's stack pointer is where the
 * return address lies, and at its `ret` it is there again: that makes the pair.  Where returns
 * cannot be looked out for, the address to which the function returns is: the stack pointer is one
 * word above then.  Whatever has no
 * match is no call: one that is left by longjmp, an exception or a tail call, one in which its
 * thread ends, one of which a part falls out of a window.  Calls within calls, of the same thread
 * or of those that it has started, are not told apart from them (docs/kernels.md).
 *
 * Breakpoints may be on for windows of time only.  A thread may then be within a call when a window
 * begins, so that calls within that one look like calls of their own: `nested` says that something
 * of that kind was seen.
 *
 * Of a function in a library that is mapped while the program runs, calls may begin before it is
 * looked out for.  They lie between its mapping and the next thing that is seen of their thread: a
 * return whose entry was not seen, or another entry. */
#pragma once

#include "tracer/calls/call_starters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOST_TIMED_KERNELS 3 /* the processor has four breakpoints */

enum call_event_kind {
	CALL_WINDOW, /* calls that begin from now on are timed, and belong to a window of their own
		      */
	CALL_CLOSE,  /* no calls are timed that begin from now on; those that have begun are */
	CALL_FORGET, /* what was seen of calls that are open holds no longer: records are missing */
	CALL_UNSEEN, /* calls of `kernel` may have begun unseen from `mapped` until now; tid: of a
		      * thread that there was */
	CALL_BORN,   /* a thread; kernel: the number of its starter in its process, or 0 */
	CALL_ENDED,
	CALL_PREEMPTED, /* the thread could go on, and lost its processor to another */
	CALL_RESUMED,   /* it has one */
	CALL_ENTRY,
	CALL_RETURN,
	CALL_BACK, /* the thread is at return_to, maybe from a call */
};

enum call_end {
	CALL_ENDS_SEEN,   /* where it returns is looked out for */
	CALL_ENDS_EARLY,  /* it is, but was not yet when the call began: its end may be seen */
	CALL_ENDS_UNSEEN, /* there was no breakpoint left for that */
};

struct call_event {
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t sp;
	uint64_t return_to; /* CALL_ENTRY, CALL_BACK */
	uint64_t mapped;    /* of a hit: moment from which on it is one; 0: from the beginning */
	uint32_t tid, pid;  /* pid: of a hit, and of CALL_BORN */
	uint32_t parent;    /* CALL_BORN: the process that has started it */
	uint32_t kernel;    /* below MOST_TIMED_KERNELS */
	uint8_t kind;       /* enum call_event_kind */
	uint8_t place;      /* of a hit */
	uint8_t end;        /* CALL_ENTRY: enum call_end */
	/* CALL_ENTRY: by a CALL_BACK, not by a CALL_RETURN.  CALL_BACK: a call of `kernel` is over,
	 * of whichever entry. */
	bool ends_at_back;
};

struct timed_call {
	uint64_t start, ns; /* ns: from the one record to the other */
	uint32_t kernel, window;
	uint64_t ready_ns; /* of ns: from CALL_PREEMPTED to CALL_RESUMED */
};

struct pair_thread {
	struct started_thread known; /* is_open: in a call of `kernel` */
	uint32_t kernel;
	uint32_t window; /* that the open call has begun in */
	bool is_timed;   /* it has begun in a window */
	bool is_early;   /* CALL_ENDS_EARLY */
	bool ends_at_back;
	uint64_t sp; /* at its entry */
	uint64_t return_to;
	uint64_t start;
	uint64_t preempted; /* when, if it still is; else 0 */
	uint64_t ready_ns;  /* of the open call, before that */
	uint8_t may_be_in;  /* bits of kernels: in a call of theirs that has begun unseen */
	uint64_t lowest;    /* stack pointer of a timed call in this window; UINT64_MAX: none */
};

/* Calls that have begun in a window: of CALL_ENDS_EARLY those whose end was seen; and of all not
 * those that were cut, in threads that had no processor when their ends were waited for no longer.
 */
struct window_calls {
	uint64_t n[MOST_TIMED_KERNELS], cut[MOST_TIMED_KERNELS];
};

struct call_pairs {
	struct pair_thread *threads;
	size_t n_threads, cap_threads;
	struct timed_call *calls;
	size_t n_calls, cap_calls;
	struct window_calls *started; /* n_windows of them */
	size_t n_windows, cap_windows;
	bool in_window;
	bool nested;                           /* a call within a call was seen, or its trace */
	uint64_t n_early[MOST_TIMED_KERNELS];  /* CALL_ENDS_EARLY, whose end was not seen (yet) */
	uint64_t n_unseen[MOST_TIMED_KERNELS]; /* CALL_ENDS_UNSEEN */
	/* What calls that began unseen (CALL_UNSEEN) took together at the least and at the most, in
	 * all threads: that of which the end was seen, and all the time in which they may have
	 * been. */
	uint64_t unseen_least_ns[MOST_TIMED_KERNELS], unseen_ns[MOST_TIMED_KERNELS];
	uint64_t seen_since[MOST_TIMED_KERNELS]; /* time of the last CALL_UNSEEN */
	uint8_t unseen;                          /* bits of kernels that had a CALL_UNSEEN */
	uint8_t unseen_alone; /* whose returns are not looked out for at that time */
	bool memory_is_short; /* something is missing */
};

void call_pairs_deinit(struct call_pairs *pairs);
void call_pairs_take(struct call_pairs *pairs, const struct call_event *event);
/* Nothing comes after `now`. */
void call_pairs_end(struct call_pairs *pairs, uint64_t now);
/* Whether calls are open that are to be timed. */
bool call_pairs_wait(const struct call_pairs *pairs);
