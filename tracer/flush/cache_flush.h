/* Cold caches in the timed run: the machine's caches are flushed where its program calls kernels.
 *
 * A process beside rfprof traces the program from its execve on.  Breakpoints of the processor, one
 * for each kernel's function, stop the threads that come there (perf_event_open(2), sigtrap).  A
 * call of its own (call_depth.h) is let go behind a flush: the thread itself takes all lines of the
 * process's data that may be in a cache out of all caches (flush_code.h). That is no time of the
 * kernel: its function begins behind it.
 *
 * It is a process since a thread that is stopped by a signal gets that signal when its tracer dies:
 * where rfprof is killed the program must go on.  It then takes the breakpoints away, and stays
 * until the program ends.
 *
 * Only the first process is followed, through its execs; and kernels that are in the program or in
 * libraries that it starts with. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cache_flush;

/* Before the program, a child of this process that allows it (launch_spec.is_traced), is let go to
 * its execve.  `kernels`: as --kernel has them.  Errors: it cannot be traced. */
struct rf_error *cache_flush_start(pid_t pid, const char *kernels, struct cache_flush **out);
/* Waits until the program has ended, which stays to be waited for. */
void cache_flush_wait(struct cache_flush *flush);
/* NULL is allowed; after cache_flush_wait. */
void cache_flush_destroy(struct cache_flush *flush);

/* Whether a thread of that process that is at this address is flushing, or is stopped for that:
 * samples there are of no function of the program.  `in_kernel`: it is stopped, or in the kernel:
 * then places where it has returned from calls are among them.  From any thread. */
bool cache_flush_has(const struct cache_flush *flush, uint32_t pid, uint64_t address,
		     bool in_kernel);

struct cache_flush_sums {
	uint64_t calls;    /* of kernels, that were flushed for */
	uint64_t failed;   /* that could not be */
	uint64_t ns;       /* from the stop at their beginning until they went on, all together */
	uint64_t lines;    /* of 64 bytes, all together */
	char missing[512]; /* kernels that were not watched, with commas between them; "" */
	char why[256]; /* nothing was flushed because of that; "": it was, or nothing was called */
};
/* After cache_flush_wait. */
const struct cache_flush_sums *cache_flush_get_sums(const struct cache_flush *flush);
/* The calls that were flushed for, and when they were stopped; after cache_flush_wait, until
 * cache_flush_destroy. */
struct stopped_calls;
const struct stopped_calls *cache_flush_calls(const struct cache_flush *flush);
