/* The first process of a pid namespace ends by its own faults, though no sent signal without a handler ends it.
 * @cases faults filtered
 * @partly filtered: the program sets up a seccomp sandbox */
#include "../own.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>

static volatile int caught;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	caught++;
	_exit(30 + caught);
}

static void *fault(void *unused)
{
	*(volatile int *)8 = work(100);
	return unused;
}

static void fault_in_thread(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, fault, NULL) == 0);
	pthread_join(thread, NULL);
}

static void bus(void)
{
	const int fd = memfd_create("empty", 0);
	volatile char *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	MUST(memory != MAP_FAILED);
	(void)memory[0];
}

/* getppid traps from now on. */
static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){ 4, code }) == 0);
}

static void faults_of_the_processor(const char *how)
{
	if (!strcmp(how, "divide"))
		__asm__ volatile("xor %%ecx, %%ecx; mov $1, %%eax; cltd; div %%ecx" ::: "eax", "ecx", "edx", "cc");
	else if (!strcmp(how, "illegal"))
		__asm__ volatile("ud2");
	else if (!strcmp(how, "trap"))
		__asm__ volatile("int3");
	else if (!strcmp(how, "bus"))
		bus();
	else
		fault(NULL);
}

static void first_process(const char *how)
{
	sigset_t segv;

	CHECK(getpid() == 1);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	if (!strcmp(how, "handled"))
		handle(SIGSEGV, on_signal, 0);
	if (!strcmp(how, "ignored"))
		signal(SIGSEGV, SIG_IGN);
	if (!strcmp(how, "blocked")) {
		handle(SIGSEGV, on_signal, 0);
		sigprocmask(SIG_BLOCK, &segv, NULL);
	}
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "thread"))
		fault_in_thread();
	if (!strcmp(how, "filtered")) {
		filter();
		syscall(SYS_getppid);
	}
	if (!strcmp(how, "sent")) {
		for (int number = 1; number < NSIG; number++)
			if (number != SIGKILL && number != SIGSTOP)
				kill(getpid(), number);
		_exit(20 + work(100));
	}
	if (!strcmp(how, "frame")) {
		handle(SIGUSR1, on_signal, 0);
		__asm__ volatile("mov %%rsp, %%r12; mov $0x1008, %%esp; mov $1, %%edi; mov $10, %%esi;"
				 "mov $62, %%eax; syscall; mov %%r12, %%rsp"
				 ::: "rax", "rcx", "rdi", "rsi", "r11", "r12", "memory");
	}
	if (!strcmp(how, "sigreturn"))
		__asm__ volatile("mov $0x1008, %%esp; mov $15, %%eax; syscall" ::: "memory");
	if (strcmp(how, "plain") != 0)
		faults_of_the_processor(how);
	_exit(20 + work(100));
}

static const char *const faults[] = { "fault", "handled", "ignored", "blocked", "divide", "illegal", "bus", "trap",
				      "abort", "frame", "sigreturn", "thread", "sent", "plain", NULL };
static const char *const filtered[] = { "filtered", NULL };

int main(int argc, char **argv)
{
	if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0)
		skip("no pid namespaces here");
	for (const char *const *how = !strcmp(argv[argc - 1], "filtered") ? filtered : faults; *how; how++) {
		pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);

		if (pid < 0)
			skip("no pid namespaces here");
		if (pid == 0)
			first_process(*how);
		printf("%s: %d\n", *how, ended(pid));
		fflush(stdout);
	}
	return done();
}
