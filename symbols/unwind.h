/* Call stacks from saved registers and stack bytes (by libdw, off line). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Registers in the order of perf's PERF_SAMPLE_REGS_USER for x86-64 that unwinding needs. */
struct unwind_regs {
	uint64_t ip, sp, bp, bx, r12, r13, r14, r15;
};

/* One executable mapping of the sampled process. */
struct unwind_mapping {
	uint64_t start, end, file_offset;
	const char *path;
};

struct unwinder; /* caches of opened files and unwind tables */
struct unwinder *unwinder_create(void);
void unwinder_destroy(struct unwinder *unwinder);
/* Opens a file that stacks may lead to, and reads nothing of it; what is not opened before is
 * opened by its path when a stack leads there. */
void unwinder_open(struct unwinder *unwinder, const char *path);

/* Walks the stack.  `stack` holds `stack_size` bytes from regs->sp upward.  `mappings` are sorted
 * by start.  Writes at most `max` run-time addresses, innermost first (the first is regs->ip, the
 * others are return addresses minus 1, so that they lie inside the call), and returns how many
 * (≥ 1).  Stops quietly where there is no unwind information or the saved bytes end. */
size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_regs *regs,
		     const uint8_t *stack, size_t stack_size, const struct unwind_mapping *mappings,
		     size_t n_mappings, uint64_t *addresses, size_t max);
