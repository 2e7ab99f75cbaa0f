/* Sandboxes that a program sets up for itself or for what it execs.
 * @cases strict allow errno trap kill_memfd no_exec_memory child thread
 * @status strict: SIGKILL
 * @status kill_memfd: 7
 * @partly seccomp */
#include "../own.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

static volatile int trapped;

static void on_sigsys(int number, siginfo_t *info, void *context)
{
	(void)number;
	trapped += info->si_syscall == SYS_getppid;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 4242;
}

/* One system call is answered by `action`, the rest are allowed. */
static void forbid(unsigned number, unsigned action)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void *in_thread(void *unused)
{
	CHECK(syscall(SYS_getppid) == -1 && errno == EACCES);
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	pthread_t thread;
	pid_t pid;

	printf("before %d\n", work(1000));
	fflush(stdout);
	if (!strcmp(how, "strict")) {
		MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
		CHECK(write(1, "strict\n", 7) == 7);
		getpid();
	} else if (!strcmp(how, "allow")) {
		forbid(SYS_acct, SECCOMP_RET_KILL_PROCESS);
	} else if (!strcmp(how, "errno")) {
		forbid(SYS_getppid, SECCOMP_RET_ERRNO | EACCES);
		CHECK(syscall(SYS_getppid) == -1 && errno == EACCES);
	} else if (!strcmp(how, "trap")) {
		handle(SIGSYS, on_sigsys, 0);
		forbid(SYS_getppid, SECCOMP_RET_TRAP);
		for (int i = 0; i < 5; i++)
			CHECK(syscall(SYS_getppid) == 4242);
		CHECK(trapped == 5);
	} else if (!strcmp(how, "kill_memfd")) {	/* and what is execed then must still run */
		forbid(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
		execl("/bin/sh", "sh", "-c", "echo in the sandbox; exit 7", (char *)NULL);
	} else if (!strcmp(how, "no_exec_memory")) {
		forbid(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM);
		pid = fork();
		if (pid == 0) {
			execl("/bin/echo", "echo", "after", (char *)NULL);
			_exit(1);
		}
		CHECK(ended(pid) == 0);
	} else if (!strcmp(how, "child")) {
		pid = fork();
		if (pid == 0) {
			forbid(SYS_getppid, SECCOMP_RET_KILL_PROCESS);
			getppid();
		}
		CHECK(ended(pid) == 1000 + SIGSYS);
	} else {
		forbid(SYS_getppid, SECCOMP_RET_ERRNO | EACCES);
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	}
	printf("after %d\n", work(1000));
	return done();
}
