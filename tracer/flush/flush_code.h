/* Code that takes lines of memory out of all caches, run by a thread of the program while it is
 * stopped: only a process that has the memory can flush it. */
#pragma once

#include "base/error.h"
#include "tracer/flush/resident.h"
#include "tracer/process/program_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct flush_code {
	uint64_t address; /* in the process: a list of ranges, and the code behind it; 0: none */
	uint64_t begin, end;
};

/* Maps it into a process whose only thread is stopped outside of a system call.  Errors: it cannot
 * be. */
struct rf_error *flush_code_map(struct flush_code *code, const struct program_memory *memory,
				pid_t pid);
/* Has a thread, which is stopped outside of a system call, flush all that is resident then, by
 * clflushopt or clflush (Intel SDM vol. 2): changed lines are written to memory, and no cache of
 * any processor has one of them then.  It stands where it stood when this returns, with the same
 * registers.  Ranges that are gone are passed over; a process that is sent a signal gets it behind
 * this.  The thread is traced with PTRACE_O_TRACESYSGOOD: where the tracer dies in the midst of
 * this it goes back on its own.  False: it has ended, or cannot be led there. */
bool flush_code_run(const struct flush_code *code, const struct program_memory *memory, pid_t tid,
		    struct resident *resident);

/* Where flush_code_pass comes to: a breakpoint there stops it. */
uint64_t flush_code_end(const struct flush_code *code);
/* Has a thread that is stopped outside of a system call go some instructions through this code, up
 * to a breakpoint at its end; it stands where it stood then.  False: it did not stop there. */
bool flush_code_pass(const struct flush_code *code, pid_t tid);
