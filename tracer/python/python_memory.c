/* Reading the memory of a process that runs on meanwhile. */
#include "tracer/python/python_memory.h"

#include <errno.h>

size_t python_reads_run(const struct python_reads *reads, pid_t pid)
{
	ssize_t got = process_vm_readv(pid, reads->to, reads->n, reads->from, reads->n, 0);
	size_t whole = 0;
	while (whole < reads->n && got >= (ssize_t)reads->to[whole].iov_len)
		got -= (ssize_t)reads->to[whole++].iov_len;
	return whole;
}

bool python_read(pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
	errno = 0;
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}
