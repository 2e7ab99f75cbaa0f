/* Which thread of a process works for which kernel, and what it has counted meanwhile
 * (docs/kernels.md).
 *
 * A thread works for a kernel from its entry to its return; what is called there is no call of its
 * own.  Where a thread that works for none was started by one that works for a kernel, at whatever
 * distance, it works for that one meanwhile.
 *
 * A thread's counters run on.  Where it begins to work for a kernel they are taken off what it has
 * counted for that one, and where it ends they are added: so all that has a counter is told apart.
 * It changes nowhere but between two blocks whose junction is OUTSIDE (translate/derive.h), so that
 * counts that are derived can be derived of the differences as well.
 *
 * Used by one thread at a time. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct kernel_threads;

/* Where the memory that holds `address` begins and ends, in the process; false: not known. */
typedef bool kernel_stack(void *context, uint64_t address, uint64_t *start, uint64_t *end);

/* `slots`: those of the process, as mapped here.  `context` is the function's.  NULL: no memory. */
struct kernel_threads *kernel_threads_create(struct profile *profile, uint8_t *slots,
					     kernel_stack *stack, void *context);
void kernel_threads_destroy(struct kernel_threads *threads);

/* The counters in use: two ranges, those of each copy of the code, up to these numbers. */
struct kernel_counters {
	uint32_t end[2];
};

/* A thread gets a slot, whose counters are 0, and has not run; `thread`: its row; `starter`: the
 * slot of the thread that has started it, or 0. */
void kernel_threads_begin(struct kernel_threads *threads, int slot, int starter, uint32_t thread,
			  struct kernel_counters counters);
/* The slot's thread waits at the beginning of a kernel's function, with that stack pointer.  True:
 * that is a call; false: it works for a kernel already. */
bool kernel_threads_enter(struct kernel_threads *threads, int slot, uint32_t kernel, uint64_t sp,
			  struct kernel_counters counters);
/* It waits before an instruction that may lead out of its kernel: a return, or a jump or call to
 * wherever. */
void kernel_threads_look(struct kernel_threads *threads, int slot, uint64_t sp, bool returns,
			 struct kernel_counters counters);
/* Whether it is in a call of its own. */
bool kernel_threads_calls(const struct kernel_threads *threads, int slot);
/* Where its work is counted now: its row, or the number of a share (profile_kernels.h). */
uint32_t kernel_threads_row(const struct kernel_threads *threads, int slot);

/* What a thread has counted for one kernel. */
struct kernel_bank {
	uint32_t kernel, row; /* row: the number of the share */
	/* As long as its thread works for it: less what the counters were when that began. */
	uint64_t *counters[2];
	uint32_t n[2];
	bool is_open; /* it does so now */
};

/* The banks of a slot's thread.  `counters`: up to now, where its thread works for one. */
const struct kernel_bank *kernel_threads_banks(const struct kernel_threads *threads, int slot,
					       size_t *n);
/* A counter of a bank up to now, in a range; `now`: the thread's. */
static inline uint64_t kernel_bank_count(const struct kernel_bank *bank, int range, uint32_t i,
					 uint64_t now)
{
	return (i < bank->n[range] ? bank->counters[range][i] : 0) + (bank->is_open ? now : 0);
}
/* The thread has ended, and its banks are not asked for any more. */
void kernel_threads_end(struct kernel_threads *threads, int slot);
/* Whether memory was short, so that work for kernels was counted as other work. */
bool kernel_threads_incomplete(const struct kernel_threads *threads);
