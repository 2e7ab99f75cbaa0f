/* System calls made on behalf of a stopped tracee: it steps over a syscall instruction that is put
 * under its program counter, with registers that say which call. */
#include "tracer/target/inject.h"

#include "tracer/process/stops.h"
#include "tracer/target/target.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const uint8_t syscall_instruction[2] = {0x0f, 0x05};

bool inject_block_signals(pid_t tid, uint64_t open, uint64_t *mask)
{
	const uint64_t trap = 1ull << (SIGTRAP - 1);
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof(*mask), mask) < 0)
		return false;
	const uint64_t blocked = (*mask | ~open) & ~trap;
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(blocked), &blocked) == 0;
}

void inject_set_signals(pid_t tid, uint64_t mask)
{
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask);
}

static void unblock_signals(struct injection *injection)
{
	if (injection->masked)
		inject_set_signals(injection->tid, injection->mask);
	if (injection->stopped) /* that came meanwhile, and cannot be blocked */
		kill(injection->tid, SIGSTOP);
}

/* One single step; false when the tracee is about to end, which the follower is left to see. */
static bool step(struct injection *injection)
{
	const pid_t tid = injection->tid;
	int status;
	siginfo_t info;
	for (int tries = 0; tries < 16; tries++) {
		if (ptrace(PTRACE_SINGLESTEP, tid, 0, 0) < 0 ||
		    stops_await(tid, SETUP_LIMIT_NS, &status) != AWAITED_STOP ||
		    status >> 16 == PTRACE_EVENT_EXIT)
			return false;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP)
			return true;
		injection->stopped |=
			status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP &&
			(ptrace(PTRACE_GETSIGINFO, tid, 0, &info) < 0 || !target_sent_stop(&info));
	}
	return false;
}

static struct rf_error *put_syscall(struct injection *injection)
{
	const uint64_t pc = injection->at = injection->regs.rip;
	if (program_memory_read(injection->memory, pc, injection->code, 2) &&
	    program_memory_write(injection->memory, pc, syscall_instruction, 2))
		return NULL;
	unblock_signals(injection);
	return rf_error_errno(RF_EACCESS, errno, NULL, "cannot write the program's memory");
}

struct rf_error *injection_begin(struct injection *injection, pid_t tid,
				 const struct program_memory *memory, bool in_call)
{
	*injection = (struct injection){.tid = tid, .memory = memory};
	injection->masked = inject_block_signals(tid, 0, &injection->mask);
	/* it leaves an execve by a step: the first one reports before any instruction */
	if ((!in_call || step(injection)) && ptrace(PTRACE_GETREGS, tid, 0, &injection->regs) == 0)
		return put_syscall(injection);
	unblock_signals(injection);
	return rf_error_errno(RF_EACCESS, errno, NULL, "%s",
			      in_call ? "cannot step the program"
				      : "cannot read the program's registers");
}

struct rf_error *injection_begin_at(struct injection *injection, pid_t tid,
				    const struct program_memory *memory, uint64_t at)
{
	*injection = (struct injection){.tid = tid, .memory = memory, .at = at, .is_there = true};
	injection->masked = inject_block_signals(tid, 0, &injection->mask);
	if (ptrace(PTRACE_GETREGS, tid, 0, &injection->regs) == 0)
		return NULL;
	unblock_signals(injection);
	return rf_error_errno(RF_EACCESS, errno, NULL, "cannot read the program's registers");
}

int64_t injection_call_with(struct injection *injection, long number, const uint64_t arguments[6])
{
	struct user_regs_struct regs = injection->regs;
	regs.rip = injection->at;
	regs.rax = (uint64_t)number;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.r10 = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	if (ptrace(PTRACE_SETREGS, injection->tid, 0, &regs) < 0)
		return -errno;
	for (int tries = 0; tries < 4; tries++) {
		if (!step(injection) || ptrace(PTRACE_GETREGS, injection->tid, 0, &regs) < 0)
			return -ESRCH;
		if (regs.rip == injection->at + 2)
			return (int64_t)regs.rax;
	}
	return -EIO;
}

void injection_end(struct injection *injection)
{
	if (!injection->is_there)
		program_memory_write(injection->memory, injection->at, injection->code, 2);
	injection->regs.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, injection->tid, 0, &injection->regs);
	unblock_signals(injection);
}
