/* Preloaded into rfprof: fails one system call or one allocation of its own, in whichever thread or child that has not
 * called execve.  The program that rfprof runs does not see it: the kernel ends syscall user dispatch at execve, and
 * the variables of the environment are gone before main.
 *
 * RFPROF_FAULTS is a file that holds a struct faults: which kind of call is to fail and which of that kind, counted
 * from 1 over all threads and processes; it is given back with how many there were.  Kinds are numbers of system calls,
 * and ALLOCATION.  A call that fails does not run, but for close.  What cannot fail is left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#define SA_KERNEL_RESTORER 0x04000000
#define SIGSYS_BIT (1ull << (SIGSYS - 1))

enum { KINDS = 512, ALLOCATION = 511, LIBDW_BLOCK = 4096 - 4 * 8, SELECTOR_ALLOW = 0, SELECTOR_BLOCK = 1 };

struct faults { /* as test_faults.py packs it */
	uint32_t is_on, kind, at, failed, counts[KINDS];
};

struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static struct faults *faults;
static __thread volatile char selector __attribute__((tls_model("initial-exec")));

/* The only system calls that the kernel lets through. */
long faults_call(long number, ...) __attribute__((visibility("hidden")));
void faults_restore(void) __attribute__((visibility("hidden")));
void faults_return(uint64_t stack) __attribute__((visibility("hidden"), noreturn));
extern const char faults_begin[] __attribute__((visibility("hidden")));
extern const char faults_end[] __attribute__((visibility("hidden")));
__asm__(".text\n"
	"faults_begin:\n"
	"faults_call:\n"
	"	movq %rdi, %rax; movq %rsi, %rdi; movq %rdx, %rsi; movq %rcx, %rdx\n"
	"	movq %r8, %r10; movq %r9, %r8; movq 8(%rsp), %r9; syscall; ret\n"
	"faults_return:\n"
	"	movq %rdi, %rsp\n"
	"faults_restore:\n"
	"	movl $15, %eax; syscall\n"
	"	hlt\n" /* the address behind the call is what is compared */
	"faults_end:\n");

/* ---- what fails, and how ---- */

static const short cannot_fail[] = {
	SYS_futex, SYS_exit, SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_getpid, SYS_gettid, SYS_getppid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_sched_yield, SYS_clock_gettime, SYS_gettimeofday,
	SYS_munmap, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_uname, SYS_getrusage, SYS_sysinfo,
	SYS_restart_syscall, SYS_umask, SYS_getpgrp, SYS_alarm, SYS_brk,
};

static const struct {
	short number, error;
} errors[] = {
	{ SYS_mmap, ENOMEM }, { SYS_mprotect, ENOMEM }, { SYS_mremap, ENOMEM }, { SYS_madvise, ENOMEM },
	{ SYS_open, EMFILE }, { SYS_openat, EMFILE }, { SYS_write, ENOSPC }, { SYS_writev, ENOSPC },
	{ SYS_pwrite64, ENOSPC }, { SYS_ftruncate, ENOSPC }, { SYS_fcntl, EMFILE }, { SYS_dup, EMFILE },
	{ SYS_dup2, EMFILE }, { SYS_dup3, EMFILE }, { SYS_pipe2, EMFILE }, { SYS_socket, EMFILE },
	{ SYS_perf_event_open, EMFILE }, { SYS_memfd_create, EMFILE }, { SYS_epoll_create1, EMFILE },
	{ SYS_eventfd2, EMFILE }, { SYS_pidfd_open, EMFILE }, { SYS_clone, EAGAIN }, { SYS_execve, ENOMEM },
	{ SYS_wait4, EINTR }, { SYS_waitid, EINTR }, { SYS_poll, EINTR }, { SYS_ppoll, EINTR },
	{ SYS_epoll_wait, EINTR }, { SYS_nanosleep, EINTR }, { SYS_clock_nanosleep, EINTR }, { SYS_pause, EINTR },
	{ SYS_kill, EPERM }, { SYS_tgkill, EPERM }, { SYS_ioctl, ENOTTY }, { SYS_flock, ENOLCK },
	{ SYS_access, EACCES }, { SYS_readlink, EACCES }, { SYS_prctl, EINVAL }, { SYS_seccomp, EINVAL },
	{ SYS_prlimit64, EPERM }, { SYS_setrlimit, EPERM }, { SYS_getrandom, ENOSYS }, { SYS_mkdir, ENOSPC },
	{ SYS_process_vm_readv, ENOMEM }, { SYS_process_vm_writev, ENOMEM }, { SYS_sched_setaffinity, EINVAL },
};

static int type_of(int fd)
{
	struct stat status;
	return faults_call(SYS_fstat, fd, &status) < 0 ? -1 : (int)(status.st_mode & S_IFMT);
}

static int is_of_proc(int fd)
{
	struct statfs status;
	return faults_call(SYS_fstatfs, fd, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

/* Of files reading and writing fails; of pipes it is interrupted; the memory of another needs some. */
static int error_of(long number, const greg_t *regs)
{
	if ((number == SYS_read || number == SYS_write) && type_of((int)regs[REG_RDI]) == S_IFIFO)
		return EINTR;
	if ((number == SYS_pread64 || number == SYS_pwrite64) && is_of_proc((int)regs[REG_RDI]))
		return ENOMEM;
	if (number == SYS_ptrace)
		return EPERM;
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].number == number)
			return errors[i].error;
	return EIO;
}

/* A tracee that is stopped does what it is told, and an event (a descriptor without a type) is noted. */
static int can_fail(long number, const greg_t *regs)
{
	for (size_t i = 0; i < sizeof(cannot_fail) / sizeof(*cannot_fail); i++)
		if (cannot_fail[i] == number)
			return 0;
	if (number == SYS_write)
		return type_of((int)regs[REG_RDI]) != 0;
	return number != SYS_ptrace || regs[REG_RDI] == PTRACE_SEIZE;
}

static int fails(long kind)
{
	if (!faults || !faults->is_on || kind < 0 || kind >= KINDS)
		return 0;
	const uint32_t n = __atomic_add_fetch(&faults->counts[kind], 1, __ATOMIC_SEQ_CST);
	if ((uint32_t)kind != faults->kind || n != faults->at)
		return 0;
	faults->failed = 1;
	return 1;
}

/* ---- system calls ---- */

static void dispatch_on(void)
{
	selector = SELECTOR_BLOCK;
	faults_call(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, faults_begin,
		    (uint64_t)(faults_end - faults_begin), &selector);
}

/* SIGSYS is never blocked: then it would end the process. */
static long set_mask(const greg_t *regs, ucontext_t *context)
{
	uint64_t set = regs[REG_RSI] ? *(const uint64_t *)regs[REG_RSI] & ~SIGSYS_BIT : 0;
	const long result = faults_call(SYS_rt_sigprocmask, regs[REG_RDI], regs[REG_RSI] ? &set : NULL, regs[REG_RDX],
					regs[REG_R10]);
	faults_call(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &context->uc_sigmask, 8ul); /* it is put back at the end */
	return result;
}

static long set_action(const greg_t *regs)
{
	struct kernel_action action;
	if (regs[REG_RDI] == SIGSYS && regs[REG_RSI])
		return 0;
	if (regs[REG_RSI]) {
		action = *(const struct kernel_action *)regs[REG_RSI];
		action.mask &= ~SIGSYS_BIT;
	}
	return faults_call(SYS_rt_sigaction, regs[REG_RDI], regs[REG_RSI] ? &action : NULL, regs[REG_RDX],
			   regs[REG_R10]);
}

static long set_stack(const greg_t *regs, ucontext_t *context)
{
	/* the kernel takes no other stack while a handler runs on the one before: the frame's is put back at the end */
	const stack_t before = context->uc_stack;
	if (regs[REG_RDI])
		context->uc_stack = *(const stack_t *)regs[REG_RDI];
	if (regs[REG_RSI])
		*(stack_t *)regs[REG_RSI] = before;
	return 0;
}

static long run(long number, greg_t *regs, ucontext_t *context)
{
	switch (number) {
	case SYS_rt_sigreturn:
		faults_return((uint64_t)regs[REG_RSP]);
	case SYS_rt_sigprocmask:
		return set_mask(regs, context);
	case SYS_rt_sigaction:
		return set_action(regs);
	case SYS_sigaltstack:
		return set_stack(regs, context);
	default:
		break;
	}
	const long result = faults_call(number, regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8],
					regs[REG_R9]);
	if (number == SYS_clone && result == 0)
		dispatch_on(); /* the child of a fork */
	return result;
}

static int shares_memory(long number, const greg_t *regs)
{
	return number == SYS_vfork || number == SYS_clone3 || (number == SYS_clone && regs[REG_RDI] & CLONE_VM);
}

static void on_call(int signal, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	greg_t *regs = context->uc_mcontext.gregs;
	const long number = regs[REG_RAX];
	(void)signal;
	(void)info;
	if (shares_memory(number, regs)) { /* it cannot run in a handler; this thread's others run unseen from now on */
		selector = SELECTOR_ALLOW;
		regs[REG_RIP] -= 2;
		return;
	}
	const int failed = can_fail(number, regs) && fails(number);
	if (!failed || number == SYS_close)
		regs[REG_RAX] = run(number, regs, context);
	if (failed)
		regs[REG_RAX] = -error_of(number, regs);
}

/* ---- threads ---- */

struct start {
	void *(*function)(void *);
	void *argument;
};

static void *begin(void *argument)
{
	const struct start start = *(struct start *)argument;
	free(argument);
	dispatch_on();
	return start.function(start.argument);
}



int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
	static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	const char before = selector;
	if (!create)
		*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	if (!faults || !faults->is_on)
		return create(thread, attributes, function, argument);
	if (fails(SYS_clone))
		return EAGAIN;
	struct start *start = malloc(sizeof(*start));
	if (!start)
		return EAGAIN;
	*start = (struct start){ function, argument };
	selector = SELECTOR_ALLOW;
	const int error = create(thread, attributes, begin, start);
	selector = before;
	if (error)
		free(start);
	return error;
}

/* ---- allocations ---- */

/* Libraries that do not look at what they get; nothing of rfprof's can help that.  hwloc 2.9: hwloc_bitmap_alloc and
 * others.  libdw 0.188: all but the blocks out of which it gives its results.  popt 1.19 says "virtual memory
 * exhausted" and ends the process. */
static struct range {
	const char *library;
	uintptr_t begin, end;
} hwloc = { "/libhwloc.so", 0, 0 }, libdw = { "/libdw.so", 0, 0 }, popt = { "/libpopt.so", 0, 0 };
static __thread int excepted;

static int find_range(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct range *range = argument;
	(void)size;
	for (int i = 0; strstr(info->dlpi_name, range->library) && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
			range->begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
			range->end = range->begin + info->dlpi_phdr[i].p_memsz;
		}
	return 0;
}

static int is_in(const struct range *range, const void *caller)
{
	return (uintptr_t)caller >= range->begin && (uintptr_t)caller < range->end;
}

static int allocation_fails(const void *caller, size_t size)
{
	if (excepted || is_in(&hwloc, caller) || is_in(&popt, caller) ||
	    (is_in(&libdw, caller) && size != LIBDW_BLOCK) || !fails(ALLOCATION))
		return 0;
	errno = ENOMEM;
	return 1;
}

void *tsearch(const void *key, void **root, int (*compare)(const void *, const void *))
{
	static void *(*search)(const void *, void **, int (*)(const void *, const void *));
	if (!search)
		*(void **)&search = dlsym(RTLD_NEXT, "tsearch");
	excepted++;
	void *found = search(key, root, compare);
	excepted--;
	return found;
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
	return allocation_fails(__builtin_return_address(0), size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return allocation_fails(__builtin_return_address(0), 0) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return allocation_fails(__builtin_return_address(0), 0) ? NULL : __libc_realloc(old, size);
}

/* ---- begin ---- */

__attribute__((constructor)) static void begin_faults(void)
{
	char self[4096] = "";
	const char *path = getenv("RFPROF_FAULTS"), *name;
	const struct kernel_action action = { on_call, SA_SIGINFO | SA_NODEFER | SA_KERNEL_RESTORER, faults_restore, 0 };
	if (!path || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	name = strrchr(self, '/');
	if (!name || strcmp(name, "/rfprof"))
		return;
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		_exit(98);
	close(fd);
	dl_iterate_phdr(find_range, &hwloc);
	dl_iterate_phdr(find_range, &libdw);
	dl_iterate_phdr(find_range, &popt);
	unsetenv("LD_PRELOAD");
	unsetenv("RFPROF_FAULTS");
	faults = mapped;
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, faults_begin, (uint64_t)(faults_end - faults_begin),
		  &selector) != 0)
		_exit(97); /* the kernel cannot */
	faults_call(SYS_rt_sigaction, SIGSYS, &action, NULL, 8ul);
	faults->is_on = 1;
	selector = SELECTOR_BLOCK;
}
