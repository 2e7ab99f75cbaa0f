/* By a breakpoint of the processor, so that nothing in the program's memory is changed. */
#include "tracer/span/entry_stop.h"

#include "tracer/perf/breakpoint.h"
#include "tracer/perf/perf_source.h"
#include "tracer/process/stops.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* DR7: the breakpoint of DR0 is on, and one of execution (Intel SDM vol. 3, "Debug Registers"). */
#define BREAK_ON_EXECUTION 1ul

struct rf_error *entry_stop_prepare(pid_t pid)
{
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC) == 0)
		return NULL;
	return rf_error_errno(RF_EUNAVAILABLE, errno,
			      "--start-at and --stop-at need ptrace: allow it in the container "
			      "(--cap-add SYS_PTRACE), or take --delay and --duration",
			      "cannot stop the program at its entry");
}

/* Where the program itself begins (getauxval(3)); 0: not known. */
static uint64_t entry_of(pid_t pid)
{
	char path[64];
	Elf64_auxv_t vector[64];
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? 0 : read(fd, vector, sizeof(vector));
	uint64_t entry = 0;
	for (size_t i = 0; i < (size_t)(size > 0 ? size : 0) / sizeof(vector[0]); i++)
		if (vector[i].a_type == AT_ENTRY)
			entry = vector[i].a_un.a_val;
	if (fd >= 0)
		close(fd);
	return entry;
}

static bool set_breakpoint(pid_t pid, uint64_t address, unsigned long control)
{
	return ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[0]), address) == 0 &&
	       ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[7]), control) == 0;
}

/* Its next stop; false: it has ended, or does not stop. */
static bool next_stop(pid_t pid, int *status)
{
	return stops_await(pid, SETUP_LIMIT_NS, status) == AWAITED_STOP;
}

/* Stops of the dynamic linker: signals, which it gets. */
static bool go_to(pid_t pid, uint64_t entry)
{
	int status, number = 0;
	struct user_regs_struct regs;
	while (ptrace(PTRACE_CONT, pid, 0, number) == 0 && next_stop(pid, &status)) {
		number = status >> 16 ? 0 : WSTOPSIG(status);
		if (number == SIGTRAP && ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0 &&
		    regs.rip == entry)
			return true;
	}
	return false;
}

/* As an event that stops the thread (Linux 5.13 and later); -1: there are none. */
static int open_breakpoint(pid_t pid, uint64_t address)
{
	struct perf_event_attr attr = breakpoint_attributes(address);
	attr.remove_on_exec = 1;
	attr.sigtrap = 1;
	return perf_source_kernel.open(NULL, &attr, pid, -1, -1);
}

/* A debug register that was set by ptrace is taken until the thread ends, also when it is off: one
 * of four breakpoints less.  So that is the second choice. */
bool entry_stop_reach(pid_t pid)
{
	const uint64_t entry = entry_of(pid);
	const int event = entry ? open_breakpoint(pid, entry) : -1;
	if (event >= 0) {
		const bool reached = go_to(pid, entry);
		close(event);
		return reached;
	}
	if (!entry || !set_breakpoint(pid, entry, BREAK_ON_EXECUTION) || !go_to(pid, entry))
		return false;
	set_breakpoint(pid, 0, 0);
	return true;
}

struct rf_error *entry_stop_wait(pid_t pid, struct rf_error *(*look)(void *context, pid_t pid),
				 void *context)
{
	struct rf_error *error = NULL;
	int status, number = 0;
	while (next_stop(pid, &status) && status >> 16 != PTRACE_EVENT_EXEC) {
		number = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, 0, number);
	}
	if (entry_stop_reach(pid))
		error = look(context, pid);
	if (error)
		kill(pid, SIGKILL);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return error;
}
