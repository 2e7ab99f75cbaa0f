/* System calls made on behalf of a stopped tracee. */
#pragma once

#include "base/error.h"
#include "tracer/process/program_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* Signals that come to a stopped tracee from now on stay pending in the kernel, as if the thread
 * had no time for them.  SIGTRAP is not blocked: the kernel would take its handler away at the next
 * step.  Nor are those of `open` (bit n - 1: signal n), for the same reason.  *mask gets the mask
 * as it was, which the caller sets again; false: nothing was changed. */
bool inject_block_signals(pid_t tid, uint64_t open, uint64_t *mask);
void inject_set_signals(pid_t tid, uint64_t mask);

/* A tracee that is stopped and lends its program counter. */
struct injection {
	pid_t tid;
	const struct program_memory *memory;
	struct user_regs_struct regs; /* as they were */
	uint64_t at;                  /* of the syscall instruction */
	bool is_there;                /* it need not be put there */
	uint8_t code[2];              /* bytes under it */
	uint64_t mask;                /* of signals, as it was; if `masked` */
	bool masked, stopped;         /* a SIGSTOP came */
};

/* Puts a syscall instruction at the tracee's program counter, which must be in memory that a
 * debugger can write (private).  `in_call`: it is in a system call still, and leaves it. */
struct rf_error *injection_begin(struct injection *injection, pid_t tid,
				 const struct program_memory *memory, bool in_call);
/* The same with a syscall instruction that is there, at `at`, for a tracee in no call. */
struct rf_error *injection_begin_at(struct injection *injection, pid_t tid,
				    const struct program_memory *memory, uint64_t at);
/* Runs one system call; the result is the kernel's (-errno for an error).  Arguments that are left
 * out are 0. */
#define injection_call(injection, number, ...) \
	injection_call_with((injection), (number), (const uint64_t[6]){__VA_ARGS__})
int64_t injection_call_with(struct injection *injection, long number, const uint64_t arguments[6]);
/* Restores the code and the registers. */
void injection_end(struct injection *injection);
