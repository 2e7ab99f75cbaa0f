/* What the filters of system calls on a process leave to the tracer, tried in a child of rfprof. */
#include "tracer/launch/sandbox.h"

#include "base/small_file.h"
#include "tracer/launch/guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE_MS 5000 /* for the child, whose calls could be made to wait */

/* Seccomp and Seccomp_filters in /proc/PID/status (proc(5)). */
static void read_filters(pid_t pid, int *mode, int *filters)
{
	char value[32];
	*mode = small_file_status(pid, "Seccomp", value, sizeof(value)) ? atoi(value) : 0;
	*filters =
		small_file_status(pid, "Seccomp_filters", value, sizeof(value)) ? atoi(value) : -1;
}

/* The calls that are made in a target: at its beginning to share memory, later by the gate. */
static bool try_calls(void)
{
	const size_t size = 1 << 16;
	static uint32_t word = 1;
	const int fd = (int)syscall(SYS_memfd_create, "rfprof", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return false;
	char *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	char *code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (data == MAP_FAILED || code == MAP_FAILED)
		return false;
	bool done =
		madvise(data, size, MADV_DONTFORK) == 0 && madvise(data, size, MADV_DONTDUMP) == 0;
	done &= syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) < 0 && errno == EAGAIN;
	done &= syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0) == 0;
	done &= syscall(SYS_sched_yield) == 0;
	return munmap(data, size) == 0 && munmap(code, size) == 0 && close(fd) == 0 && done;
}

static void exit_unless_allowed(void *context)
{
	if (!try_calls())
		_exit(1);
}

void sandbox_init(struct sandbox *sandbox)
{
	read_filters(getpid(), &sandbox->mode, &sandbox->filters);
	sandbox->allows = sandbox->mode == 0 ||
			  (sandbox->filters > 0 &&
			   guard_run(exit_unless_allowed, NULL, PATIENCE_MS).how == GUARD_DONE);
}

struct rf_error *sandbox_check(const struct sandbox *sandbox, pid_t pid)
{
	int mode, filters;
	read_filters(pid, &mode, &filters);
	if (mode == 0)
		return NULL;
	if (mode != sandbox->mode || filters != sandbox->filters || filters < 0)
		return rf_error_create(RF_EUNAVAILABLE, NULL, "a program in a seccomp sandbox");
	if (!sandbox->allows)
		return rf_error_create(RF_EUNAVAILABLE, NULL,
				       "a seccomp sandbox that forbids what counting needs");
	return NULL;
}
