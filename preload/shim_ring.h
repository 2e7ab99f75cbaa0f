/* Records into a thread's ring; all of it handler code. */
#pragma once

#include "preload/shim.h"

#include <stdbool.h>

struct shim_sample {
	uint64_t ip, period;
	uint64_t regs[11]; /* bx, cx, di, bp, sp, ip, flags, r12 to r15 */
	uint64_t stack_size;
};
void shim_write_sample(struct shim_thread *thread, const struct shim_sample *sample);
/* The thread's name; `exec`: a program begins. */
void shim_write_comm(struct shim_thread *thread, bool exec);
void shim_write_fork(struct shim_thread *thread, uint32_t parent_pid, uint32_t parent_tid);
/* `range`: start, end, offset in the file. */
void shim_write_mapping(struct shim_thread *thread, const uint64_t range[3], uint32_t major,
			uint32_t minor, uint64_t inode, const char *path);
