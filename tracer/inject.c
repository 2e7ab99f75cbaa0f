#include "tracer/inject.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const uint8_t syscall_instruction[2] = {0x0f, 0x05};

/* One single step; false when the tracee is gone or stopped for something else. */
static bool step(pid_t tid)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) < 0 || waitpid(tid, &status, __WALL) != tid)
		return false;
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

struct rf_error *injection_begin(struct injection *injection, pid_t tid,
				 const struct program_memory *memory)
{
	*injection = (struct injection){.tid = tid, .memory = memory};
	/* Leaves the execve that it is still in: the first step reports before any instruction. */
	if (!step(tid) || ptrace(PTRACE_GETREGS, tid, 0, &injection->regs) < 0)
		return rf_error_errno(RF_EACCESS, errno, NULL, "cannot step the program");
	if (!program_memory_read(memory, injection->regs.rip, injection->code, 2) ||
	    !program_memory_write(memory, injection->regs.rip, syscall_instruction, 2))
		return rf_error_errno(RF_EACCESS, errno, NULL, "cannot write the program's memory");
	return NULL;
}

int64_t injection_call(struct injection *injection, long number, uint64_t a, uint64_t b, uint64_t c,
		       uint64_t d, uint64_t e, uint64_t f)
{
	struct user_regs_struct regs = injection->regs;
	regs.rax = (uint64_t)number;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = a;
	regs.rsi = b;
	regs.rdx = c;
	regs.r10 = d;
	regs.r8 = e;
	regs.r9 = f;
	if (ptrace(PTRACE_SETREGS, injection->tid, 0, &regs) < 0)
		return -errno;
	for (int tries = 0; tries < 4; tries++) {
		if (!step(injection->tid) || ptrace(PTRACE_GETREGS, injection->tid, 0, &regs) < 0)
			return -ESRCH;
		if (regs.rip == injection->regs.rip + 2)
			return (int64_t)regs.rax;
	}
	return -EIO;
}

void injection_end(struct injection *injection)
{
	program_memory_write(injection->memory, injection->regs.rip, injection->code, 2);
	injection->regs.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, injection->tid, 0, &injection->regs);
}
