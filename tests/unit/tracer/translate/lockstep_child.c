/* The process that runs the code under test, driven by ptrace. */
#include "tests/unit/tracer/translate/lockstep.h"

#include "tracer/gate/protocol.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STUCK_SECONDS 10
#define SYSCALL_AT 0x100 /* in the page of traps */
#define END_OF_MEMORY 0x7ffffffff000ull

static void child_main(const struct lockstep *lockstep)
{
	const struct code_cache *cache = &lockstep->translator.cache;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	mprotect(lockstep->arena, cache->arenas[0].size, PROT_READ | PROT_EXEC);
	mprotect(lockstep->traps, TRAPS_SIZE, PROT_READ | PROT_EXEC);
	mprotect((void *)lockstep->image.start, lockstep->image.end - lockstep->image.start,
		 PROT_READ);
	for (size_t i = 0; i < lockstep->n_exec; i++)
		mprotect((void *)lockstep->exec[i].start,
			 lockstep->exec[i].end - lockstep->exec[i].start, PROT_READ | PROT_EXEC);
	for (size_t i = 0; i < lockstep->n_writable; i++)
		mprotect((void *)lockstep->writable[i].start,
			 lockstep->writable[i].end - lockstep->writable[i].start,
			 PROT_READ | PROT_WRITE);
	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	if (__rseq_size) /* the kernel must not look for it where nothing will be mapped */
		syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, 32,
			RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0)
		kill(getpid(), SIGSTOP);
	_exit(1);
}

static void on_alarm(int number)
{
	(void)number; /* only to interrupt waitpid */
}

/* Waits for the child to stop; an alarm bounds the time. */
static int wait_for_stop(struct lockstep *lockstep)
{
	int status;
	alarm(STUCK_SECONDS);
	pid_t pid = waitpid(lockstep->child, &status, __WALL);
	alarm(0);
	if (pid == lockstep->child && WIFSTOPPED(status))
		return WSTOPSIG(status);
	if (pid < 0)
		kill(lockstep->child, SIGKILL);
	if (pid < 0 && errno == EINTR)
		waitpid(lockstep->child, &status, __WALL);
	lockstep->child = 0;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const uint64_t x = ((const struct range *)a)->start, y = ((const struct range *)b)->start;
	return (x > y) - (x < y);
}

static bool child_munmap(struct lockstep *lockstep, uint64_t start, uint64_t end)
{
	static const uint8_t system_call[] = {0x0f, 0x05};
	struct user_regs_struct regs;
	if (start >= end)
		return true;
	memcpy(lockstep->traps + SYSCALL_AT, system_call, sizeof(system_call)); /* int3 follows */
	if (!lockstep_get_regs(lockstep, &regs))
		return false;
	regs.rip = (uint64_t)lockstep->traps + SYSCALL_AT;
	regs.rax = SYS_munmap;
	regs.rdi = start;
	regs.rsi = end - start;
	regs.orig_rax = (unsigned long long)-1;
	return lockstep_set_regs(lockstep, &regs) && lockstep_resume(lockstep) == SIGTRAP &&
	       lockstep_get_regs(lockstep, &regs) && regs.rax == 0;
}

/* Leaves nothing in the child but the memory of the test: no other that wild pointers could read or
 * change. */
static bool clear_memory(struct lockstep *lockstep)
{
	struct range kept[8] = {
		lockstep->image,
		lockstep->writable[0],
		lockstep->writable[1],
		{(uint64_t)lockstep->traps, (uint64_t)lockstep->traps + TRAPS_SIZE},
		{(uint64_t)lockstep->slot, (uint64_t)lockstep->slot + SLOT_STRIDE},
		{(uint64_t)lockstep->arena,
		 (uint64_t)lockstep->arena + lockstep->translator.cache.arenas[0].size},
		{END_OF_MEMORY, END_OF_MEMORY},
	};
	uint64_t end = 0;
	qsort(kept, 7, sizeof(kept[0]), by_start);
	for (int i = 0; i < 7; i++) {
		if (!child_munmap(lockstep, end, kept[i].start))
			return false;
		end = kept[i].end;
	}
	return true;
}

bool lockstep_start_child(struct lockstep *lockstep)
{
	struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
	sigaction(SIGALRM, &action, NULL);
	lockstep->child = fork();
	if (lockstep->child == 0)
		child_main(lockstep);
	if (lockstep->child < 0) {
		lockstep->child = 0;
		return false;
	}
	if (wait_for_stop(lockstep) != SIGSTOP)
		return false;
	return ptrace(PTRACE_SETOPTIONS, lockstep->child, 0, PTRACE_O_EXITKILL) == 0 &&
	       clear_memory(lockstep);
}

void lockstep_stop_child(struct lockstep *lockstep)
{
	int status;
	if (!lockstep->child)
		return;
	kill(lockstep->child, SIGKILL);
	waitpid(lockstep->child, &status, __WALL);
	lockstep->child = 0;
}

int lockstep_step(struct lockstep *lockstep)
{
	if (!lockstep->child || ptrace(PTRACE_SINGLESTEP, lockstep->child, 0, 0) < 0)
		return 0;
	return wait_for_stop(lockstep);
}

int lockstep_resume(struct lockstep *lockstep)
{
	if (!lockstep->child || ptrace(PTRACE_CONT, lockstep->child, 0, 0) < 0)
		return 0;
	return wait_for_stop(lockstep);
}

bool lockstep_get_regs(struct lockstep *lockstep, struct user_regs_struct *regs)
{
	return lockstep->child && ptrace(PTRACE_GETREGS, lockstep->child, 0, regs) == 0;
}

bool lockstep_set_regs(struct lockstep *lockstep, const struct user_regs_struct *regs)
{
	return lockstep->child && ptrace(PTRACE_SETREGS, lockstep->child, 0, regs) == 0;
}

bool lockstep_get_xstate(struct lockstep *lockstep, uint8_t *xstate)
{
	struct iovec area = {xstate, LOCKSTEP_XSTATE_MAX};
	memset(xstate, 0, LOCKSTEP_XSTATE_MAX);
	if (!lockstep->child || ptrace(PTRACE_GETREGSET, lockstep->child, NT_X86_XSTATE, &area) < 0)
		return false;
	lockstep->xstate_size = area.iov_len;
	return true;
}

bool lockstep_set_xstate(struct lockstep *lockstep, const uint8_t *xstate)
{
	struct iovec area = {(void *)xstate, lockstep->xstate_size};
	return lockstep->child &&
	       ptrace(PTRACE_SETREGSET, lockstep->child, NT_X86_XSTATE, &area) == 0;
}
