/* A CPU timer for each thread, and its signal handler.
 *
 * Why a handler does not disturb the program's system calls: a thread's CPU clock only runs while
 * the thread does.  Since Linux 5.10 x86 kernels look for expired CPU timers in task work, on the
 * way back to user mode (CONFIG_POSIX_CPU_TIMERS_TASK_WORK, kernel/time/posix-cpu-timers.c): a
 * call in progress has its result by then, and one that sleeps is not woken, so that none returns
 * EINTR.  Older kernels raise the signal in the tick itself; then a call that goes to sleep within
 * the same tick can be interrupted: SA_RESTART resumes it, save those that signal(7) lists as never
 * restarted (poll, nanosleep, ...).
 *
 * The kernel looks at CPU timers at each tick only: there are CONFIG_HZ samples in a second of CPU
 * time at most (250 in Debian's kernels).  The timer's period is shorter than a tick, and the
 * overrun count says how many periods a sample stands for. */
#include "preload/shim_timer.h"

#include "preload/shim_maps.h"
#include "preload/shim_ring.h"
#include "preload/shim_syscall.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>

#define SHIM_HANDLER_CODE
#include "preload/shim_rules.h"

__thread struct shim_thread *shim_self __attribute__((tls_model("initial-exec")));
static __thread struct shim_thread storage __attribute__((tls_model("initial-exec")));

/* --- handler --- */

/* Can the byte at `address` be read?  With an operation that does not exist rt_sigprocmask still
 * reads the mask first: EFAULT or EINVAL, and nothing changes (kernel/signal.c). */
static bool is_readable(uint64_t address)
{
	long mask = (long)(address & ~(uint64_t)7);
	return shim_syscall(SYS_rt_sigprocmask, -1, mask, 0, 8) == -EINVAL;
}

/* How much can be copied from the stack pointer up: the program may be on a small stack of its own
 * making, so each page is tried. */
static uint64_t readable_stack(uint64_t sp, uint64_t wanted)
{
	uint64_t size = 0;
	while (size < wanted && is_readable(sp + size))
		size += SHIM_PAGE - (sp + size) % SHIM_PAGE;
	return (size < wanted ? size : wanted) & ~(uint64_t)7;
}

/* A signal of this number that is not from our timers: the program's own business. */
static void pass_on(int signal_number, siginfo_t *info, void *context)
{
	const struct sigaction *user = &shim_process.user_action;
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} none = {0};
	if (user->sa_flags & SA_SIGINFO) {
		user->sa_sigaction(signal_number, info, context);
	} else if (user->sa_handler == SIG_DFL) {
		/* Delivered again, fatally, when this handler returns. */
		shim_syscall(SYS_rt_sigaction, signal_number, (long)&none, 0, 8);
		shim_syscall(SYS_tgkill, shim_syscall(SYS_getpid, 0, 0, 0, 0),
			     shim_syscall(SYS_gettid, 0, 0, 0, 0), signal_number, 0);
	} else if (user->sa_handler != SIG_IGN) {
		user->sa_handler(signal_number);
	}
}

/* Threads rename themselves at any time. */
static void follow_name(struct shim_thread *thread)
{
	uint64_t name[2] = {0, 0}, old[2];
	shim_syscall(SYS_prctl, PR_GET_NAME, (long)name, 0, 0);
	shim_copy(old, thread->name, sizeof(old));
	if (name[0] == old[0] && name[1] == old[1])
		return;
	shim_copy(thread->name, name, sizeof(name));
	shim_write_comm(thread, false);
}

static void take_sample(struct shim_thread *thread, const siginfo_t *info, const greg_t *regs)
{
	const struct shim_header *header = shim_process.header;
	/* The SYSCALL instruction leaves its return address in rcx and the flags in r11 (Intel SDM
	 * vol. 2B): the tick fell into a system call.  User time only is sampled, as with perf. */
	if (regs[REG_RCX] == regs[REG_RIP] && regs[REG_R11] == regs[REG_EFL])
		return;
	uint64_t sp = (uint64_t)regs[REG_RSP];
	struct shim_sample sample = {
		.ip = (uint64_t)regs[REG_RIP],
		.period = (uint64_t)header->interval_ns * (1 + (uint64_t)info->si_overrun),
		.regs = {(uint64_t)regs[REG_RBX], (uint64_t)regs[REG_RCX], (uint64_t)regs[REG_RDI],
			 (uint64_t)regs[REG_RBP], sp, (uint64_t)regs[REG_RIP],
			 (uint64_t)regs[REG_EFL], (uint64_t)regs[REG_R12], (uint64_t)regs[REG_R13],
			 (uint64_t)regs[REG_R14], (uint64_t)regs[REG_R15]},
		.stack_size = readable_stack(sp, header->stack_bytes),
	};
	follow_name(thread);
	shim_maps_need(thread, sample.ip);
	shim_write_sample(thread, &sample);
}

void shim_handler(int signal_number, siginfo_t *info, void *context)
{
	struct shim_thread *thread = shim_self;
	const ucontext_t *interrupted = context;
	if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &shim_process)
		pass_on(signal_number, info, context);
	else if (thread)
		take_sample(thread, info, interrupted->uc_mcontext.gregs);
}

/* --- threads --- */

static struct shim_slot *slot_at(unsigned number)
{
	return (struct shim_slot *)((uint8_t *)shim_process.header + SHIM_PAGE +
				    (size_t)number * SHIM_SLOT_SIZE);
}

static struct shim_slot *claim_slot(void)
{
	for (unsigned i = 0; i < SHIM_SLOTS; i++) {
		uint32_t expected = SHIM_SLOT_FREE;
		if (__atomic_compare_exchange_n(&slot_at(i)->state, &expected, SHIM_SLOT_USED,
						false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return slot_at(i);
	}
	return NULL;
}

static bool start_timer(struct shim_thread *thread)
{
	const struct shim_header *header = shim_process.header;
	struct sigevent event = {
		.sigev_value.sival_ptr = &shim_process,
		.sigev_signo = (int)header->signal,
		.sigev_notify = SIGEV_THREAD_ID,
		._sigev_un._tid = (int)thread->tid,
	};
	struct itimerspec times = {
		.it_interval.tv_nsec = header->interval_ns,
		.it_value.tv_nsec = header->interval_ns,
	};
	if (shim_syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event,
			 (long)&thread->timer, 0) != 0)
		return false; /* RLIMIT_SIGPENDING */
	shim_syscall(SYS_timer_settime, thread->timer, 0, (long)&times, 0);
	return true;
}

static void unblock_signal(void)
{
	uint64_t mask = 1ull << (shim_process.header->signal - 1);
	shim_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mask, 0, sizeof(mask));
}

static void announce(struct shim_thread *thread, uint32_t parent_pid, uint32_t parent_tid)
{
	if (parent_tid) {
		shim_write_fork(thread, parent_pid, parent_tid);
		return;
	}
	shim_syscall(SYS_prctl, PR_GET_NAME, (long)thread->name, 0, 0);
	shim_write_comm(thread, true);
	shim_maps_need(thread, 0);
}

void shim_thread_begin(uint32_t parent_pid, uint32_t parent_tid)
{
	struct shim_thread *thread = &storage;
	struct shim_slot *slot = claim_slot();
	if (!slot) {
		__atomic_fetch_add(&shim_process.header->unsampled, 1, __ATOMIC_RELAXED);
		return;
	}
	*thread = (struct shim_thread){
		.slot = slot,
		.generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE),
		.pid = (uint32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0),
		.tid = (uint32_t)shim_syscall(SYS_gettid, 0, 0, 0, 0),
	};
	slot->tid = thread->tid;
	__atomic_store_n(&slot->pid, thread->pid, __ATOMIC_RELEASE);
	announce(thread, parent_pid, parent_tid);
	shim_self = thread;
	unblock_signal();
	if (start_timer(thread))
		return;
	__atomic_fetch_add(&shim_process.header->unsampled, 1, __ATOMIC_RELAXED);
	shim_self = NULL;
	__atomic_store_n(&slot->state, SHIM_SLOT_CLOSED, __ATOMIC_RELEASE);
}

void shim_thread_end(void)
{
	struct shim_thread *thread = shim_self;
	if (!thread)
		return;
	shim_self = NULL;
	/* The handler runs on this thread: it has seen the change, or comes before it. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shim_syscall(SYS_timer_delete, thread->timer, 0, 0, 0);
	if (__atomic_load_n(&thread->slot->generation, __ATOMIC_ACQUIRE) == thread->generation)
		__atomic_store_n(&thread->slot->state, SHIM_SLOT_CLOSED, __ATOMIC_RELEASE);
}
