/* The kernel as a source of events: each function is its system call. */
#include "tracer/perf/perf_source.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int kernel_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       int group)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static ssize_t kernel_read(void *context, int fd, void *buffer, size_t size)
{
	return read(fd, buffer, size);
}

static int kernel_control(void *context, int fd, unsigned long request, uintptr_t argument)
{
	return ioctl(fd, request, argument);
}

static void *kernel_map(void *context, int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void kernel_unmap(void *context, void *mapping, size_t size)
{
	munmap(mapping, size);
}

static void kernel_close(void *context, int fd)
{
	close(fd);
}

const struct perf_source perf_source_kernel = {
	.name = "kernel",
	.open = kernel_open,
	.read = kernel_read,
	.control = kernel_control,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.close = kernel_close,
};
