/* Which entries of kernels are calls of their own (docs/kernels.md), where nothing is known of a
 * program but when its threads come to the beginning of a kernel's function, and to where a call
 * returns. */
#pragma once

#include "tracer/calls/call_starters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct open_call {
	uint64_t sp;        /* stack pointer at its entry, where the return address lies */
	uint64_t return_to; /* that address */
	int watch;          /* the caller's: what watches the return */
	size_t number;      /* the caller's */
};

struct call_thread {
	struct started_thread known; /* is_open: in `call` */
	struct open_call call;
};

struct call_depth {
	struct call_thread *threads;
	size_t n_threads, cap_threads;
};

void call_depth_deinit(struct call_depth *depth);
/* A thread begins, which `starter` (0: none) has started.  NULL: no memory. */
struct call_thread *call_depth_begin(struct call_depth *depth, pid_t tid, pid_t starter);
/* The thread of that number, or NULL. */
struct call_thread *call_depth_thread(const struct call_depth *depth, pid_t tid);
/* It has ended; those that it has started are its starter's. */
void call_depth_end(struct call_depth *depth, pid_t tid);

/* A thread is at the beginning of a kernel's function, where it returns to `return_to`.  `top`:
 * what lies now where the return address of its open call lay.  True: this is a call of its own:
 * neither the thread nor one that has started it, at whatever distance, is in one.  A call that is
 * open ends where the stack is no deeper now, or its return address is gone: it was left by longjmp
 * or an exception. */
bool call_depth_enters(struct call_depth *depth, struct call_thread *thread, uint64_t sp,
		       uint64_t return_to, uint64_t top);
/* A thread is at the return address of its open call: whether that has returned, and not one that
 * lies deeper. */
bool call_depth_returns(const struct call_thread *thread, uint64_t sp);
