/* What a thread waits for, by the files of /proc: where the kernel does not let switches be
 * sampled. */
#pragma once

#include "symbols/unwind.h"
#include "tracer/process/kernel_symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wait_look {
	struct kernel_place place;
	struct unwind_regs regs; /* ip and sp alone: others are not told */
	size_t stack_size;
};

/* Looks at a thread now; `stack`: room for `room` bytes, gets those from its stack pointer upward.
 * False: it does not wait in a system call, or may not be looked at (proc(5), /proc/PID/syscall:
 * PTRACE_MODE_ATTACH). */
bool wait_look_at(uint32_t pid, uint32_t tid, struct wait_look *look, uint8_t *stack, size_t room);
