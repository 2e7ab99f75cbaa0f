/* The system calls that counters need, behind a table, so that tests can stand in for a kernel:
 * with records that they make, with a fault for each call, and with counters that this machine does
 * not have. */
#pragma once

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_source {
	const char *name;
	/* As perf_event_open(2); flags always hold PERF_FLAG_FD_CLOEXEC.  -1 with errno. */
	int (*open)(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		    int group);
	/* As read(2) of a counter's descriptor. */
	ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
	int (*control)(void *context, int fd, unsigned long request,
		       uintptr_t argument);               /* ioctl(2) */
	void *(*map)(void *context, int fd, size_t size); /* MAP_FAILED with errno */
	void (*unmap)(void *context, void *mapping, size_t size);
	void (*close)(void *context, int fd);
	void *context;
};

/* The kernel that runs. */
extern const struct perf_source perf_source_kernel;
