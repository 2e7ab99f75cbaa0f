/* What Python was doing: the frames of running CPython threads (3.11 to 3.13), read from outside,
 * by process_vm_readv(2), while they run.
 *
 * Nothing is stopped, and nothing in the program is changed.  A thread whose frames change while
 * they are read gives none, after a few attempts.  Whatever is read may be anything: all numbers
 * are bounded and all loops end.  Threads have the ids that they see themselves: those of a program
 * that has a pid namespace of its own are not found.  Interpreters are found in executables and
 * libraries that export _PyRuntime, as they do unless somebody hides it. */
#pragma once

#include "tracer/python/python_codes.h"
#include "tracer/python/python_frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct python_stacks;
/* NULL: memory is short. */
struct python_stacks *python_stacks_create(void);
void python_stacks_destroy(struct python_stacks *stacks);

/* A process has mapped the file `path` at `time` (CLOCK_MONOTONIC, ns): its first byte at `image`.
 * Cheap; files whose name does not tell of an interpreter are left out. */
void python_stacks_watch(struct python_stacks *stacks, uint32_t pid, const char *path,
			 uint64_t image, uint64_t time);
/* `pid` is a copy of `parent`. */
void python_stacks_fork(struct python_stacks *stacks, uint32_t parent, uint32_t pid, uint64_t time);
/* The process has executed another program: what it had mapped before is gone. */
void python_stacks_exec(struct python_stacks *stacks, uint32_t pid, uint64_t time);

/* Whether there is any process to look at. */
bool python_stacks_watches(const struct python_stacks *stacks);
/* Looks at all threads of all interpreters that are watched, now.  Takes a tenth of the time at
 * most: after a long look the next ones are left out.  Of more than 256 threads of an interpreter
 * the newest are looked at. */
void python_stacks_look(struct python_stacks *stacks);
/* What is before `time` is not asked for any more. */
void python_stacks_forget(struct python_stacks *stacks, uint64_t time);

/* A thread was on a processor from `from` to `to` without a break.  Looks at such times are sure.
 * Others may have seen it while it waited for a processor, which takes no time of it and is at some
 * places of a program, such as system calls, more often than at others. */
void python_stacks_ran(struct python_stacks *stacks, uint32_t pid, uint32_t tid, uint64_t from,
		       uint64_t to);
/* The look at a thread nearest to `time`, a sure one not farther than 20 times `within_ns` if
 * there is one, else another one not farther than `within_ns`; returns the number of its
 * frames, and in *frames these, the innermost first, until the next call.  0: there is none, or no
 * Python was running.  *holds_gil: the thread had the interpreter's lock, so that it was this one
 * that ran Python. */
size_t python_stacks_find(struct python_stacks *stacks, uint32_t pid, uint32_t tid, uint64_t time,
			  uint64_t within_ns, const struct python_frame **frames, bool *holds_gil);
/* A function by its number; NULL: there is none.  Valid until the next look. */
const struct python_function *python_stacks_function(const struct python_stacks *stacks,
						     uint32_t function);

/* Looks so far at single threads, and those of them that were torn. */
void python_stacks_counts(const struct python_stacks *stacks, uint64_t *looks, uint64_t *torn);
/* Why nothing can be read, as a line without a full stop, or NULL. */
const char *python_stacks_refused(const struct python_stacks *stacks);
