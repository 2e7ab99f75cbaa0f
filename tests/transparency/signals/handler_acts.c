/* Handlers that do large things: fork, exec, start a thread, print a stack trace, call exit, swap stacks.
 * @cases fork exec thread trace exit swap abort
 * @status exit: 12
 * @status abort: SIGABRT */
#include "../own.h"

#include <execinfo.h>
#include <pthread.h>

static const char *how;
static ucontext_t here, there;
static volatile int frames, swapped;
extern char __executable_start, etext;

static void *in_thread(void *unused)
{
	printf("in a thread %d\n", work(100));
	return unused;
}

static void elsewhere(void)
{
	swapped++;
	swapcontext(&there, &here);
}

static void act(int number, siginfo_t *info, void *context)
{
	static char stack[32768];
	void *trace[32];
	pthread_t thread;

	(void)number;
	(void)info;
	(void)context;
	if (!strcmp(how, "fork")) {
		pid_t pid = fork();

		if (pid == 0)
			return;		/* the child, too, returns from the handler */
		CHECK(ended(pid) == 8);
	} else if (!strcmp(how, "exec")) {
		execl("/bin/echo", "echo", "from the handler", (char *)NULL);
	} else if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(how, "trace")) {
		int n = backtrace(trace, 32);

		for (int i = 0; i < n; i++)
			frames += (char *)trace[i] > &__executable_start && (char *)trace[i] < &etext;
	} else if (!strcmp(how, "exit")) {
		printf("leaving\n");
		exit(12);
	} else if (!strcmp(how, "swap")) {
		getcontext(&there);
		there.uc_stack.ss_sp = stack;
		there.uc_stack.ss_size = sizeof(stack);
		makecontext(&there, elsewhere, 0);
		swapcontext(&here, &there);
	}
}

NOINLINE static void three(void)
{
	raise(SIGUSR1);
	work(1);
}

NOINLINE static void two(void)
{
	three();
	work(1);
}

int main(int argc, char **argv)
{
	pid_t top = getpid();

	how = argv[argc - 1];
	handle(!strcmp(how, "abort") ? SIGABRT : SIGUSR1, act, 0);
	if (!strcmp(how, "abort"))
		abort();
	two();
	if (getpid() != top)
		_exit(work(10) + 6);
	printf("frames %d, swapped %d\n", frames, swapped);
	return done();
}
