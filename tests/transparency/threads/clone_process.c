/* Processes by clone in its rarer forms.
 * @cases parent pidfd no_signal raw_fork other_stack untraced set_child_tid */
#include "../own.h"

#include <sched.h>
#include <sys/wait.h>

static char stack[65536] __attribute__((aligned(16)));
static int pidfd = -1, tid;

static int child(void *argument)
{
	return work(1000) + *(int *)argument;
}

/* The child's child becomes our own. */
static int begets_sibling(void *argument)
{
	pid_t pid = clone(child, malloc(65536) + 65536, CLONE_PARENT | SIGCHLD, argument);

	return pid < 0;
}

static void check_pidfd(int *number)
{
	pid_t pid = clone(child, stack + sizeof(stack), CLONE_PIDFD | SIGCHLD, number, &pidfd);
	siginfo_t info = { 0 };

	MUST(pid > 0 && pidfd >= 0);
	CHECK(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED) == 0 && info.si_pid == pid && info.si_status == 7);
	close(pidfd);
}

static int with_tid(void *unused)
{
	(void)unused;
	return tid == gettid() ? 3 : 4;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *const top = stack + sizeof(stack);
	int number = 5;

	if (!strcmp(how, "parent")) {
		CHECK(ended(clone(begets_sibling, top, SIGCHLD, &number)) == 0);
		int status = 0;

		CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 7);
	} else if (!strcmp(how, "pidfd")) {
		check_pidfd(&number);
	} else if (!strcmp(how, "no_signal")) {
		pid_t pid = clone(child, top, 0, &number);

		CHECK(waitpid(pid, NULL, WNOHANG) == -1 && errno == ECHILD);
		CHECK(ended(pid) == 7);
	} else if (!strcmp(how, "raw_fork")) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

		if (pid == 0)
			_exit(child(&number));
		CHECK(ended(pid) == 7);
	} else if (!strcmp(how, "other_stack")) {
		for (number = 0; number < 10; number++)
			CHECK(ended(clone(child, top, SIGCHLD | CLONE_FILES | CLONE_FS, &number)) == 2 + number);
	} else if (!strcmp(how, "untraced")) {
		CHECK(ended(clone(child, top, SIGCHLD | CLONE_UNTRACED, &number)) == 7);
	} else {
		CHECK(ended(clone(with_tid, top, SIGCHLD | CLONE_CHILD_SETTID, NULL, NULL, NULL, &tid)) == 3);
	}
	return done();
}
