/* Reading the memory of a process that runs on meanwhile: several places in one system call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Places at most in one call. */
#define PYTHON_MAX_READS 160

struct python_reads {
	struct iovec to[PYTHON_MAX_READS], from[PYTHON_MAX_READS];
	size_t n;
};

static inline void python_reads_begin(struct python_reads *reads)
{
	reads->n = 0;
}

/* Asks for `size` bytes at `address`, to be put at `to`.  What is too much is not asked for:
 * python_reads_run tells by what it returns. */
static inline void python_reads_add(struct python_reads *reads, void *to, uint64_t address,
				    size_t size)
{
	if (reads->n < PYTHON_MAX_READS) {
		reads->to[reads->n] = (struct iovec){to, size};
		reads->from[reads->n].iov_base = (void *)(uintptr_t)address;
		reads->from[reads->n++].iov_len = size;
	}
}

/* Reads what was asked for, in its order.  Returns how many of the places were read as a whole: the
 * first that cannot be read ends it.  errno is that of process_vm_readv(2) where nothing was. */
size_t python_reads_run(const struct python_reads *reads, pid_t pid);

/* One place; false where not all of it could be read. */
bool python_read(pid_t pid, uint64_t address, void *to, size_t size);
