/* vfork: the child shares memory, the parent waits; ended, nested, failed exec, exec, in a thread.
 * @cases exit exec failed nested thread killed */
#include "../own.h"

#include <pthread.h>
#include <sys/wait.h>

static volatile int shared;
static const char *how;

static int child_ends(void)
{
	static char *const echo[] = { "echo", "from the child", NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		shared++;
		if (!strcmp(how, "exec") || !strcmp(how, "thread"))
			execv("/bin/echo", echo);
		if (!strcmp(how, "failed"))
			execv("/nonexistent", echo);
		if (!strcmp(how, "killed"))
			kill(getpid(), SIGKILL);
		if (!strcmp(how, "nested")) {
			pid_t grandchild = vfork();

			if (grandchild == 0) {
				shared += 10;
				_exit(3);
			}
			_exit(ended(grandchild));
		}
		_exit(work(100) + 20);
	}
	return ended(pid);
}

static void *in_thread(void *unused)
{
	for (int i = 0; i < 3; i++)
		printf("ended %d\n", child_ends());
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	how = argv[1];
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(how, "thread")) {
		MUST(pthread_create(&thread, NULL, in_thread, NULL) == 0);
		work(100000);
		pthread_join(thread, NULL);
	} else {
		in_thread(NULL);
	}
	printf("shared %d\n", shared);
	return done();
}
