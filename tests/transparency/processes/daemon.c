/* Processes that outlive what started them.
 * @cases double_fork session reparented zombie
 */
#include "../own.h"

#include <sys/prctl.h>
#include <sys/wait.h>

static void write_later(void)
{
	usleep(60000);
	FILE *file = fopen("later", "we");

	if (file) {
		fprintf(file, "written by what was left, work %d\n", work(1000));
		fclose(file);
	}
	_exit(0);
}

/* A grandchild whose parent is gone comes to the subreaper. */
static void reparented(void)
{
	MUST(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0) {
			usleep(30000);
			_exit(33);
		}
		_exit(1);
	}
	CHECK(ended(pid) == 1);

	int status = 0;

	CHECK(wait(&status) > 0 && WEXITSTATUS(status) == 33);
	CHECK(wait(&status) == -1 && errno == ECHILD);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	pid_t pid;

	if (!strcmp(how, "reparented")) {
		reparented();
		return done();
	}
	pid = fork();
	if (pid == 0) {
		if (!strcmp(how, "zombie"))
			_exit(5);
		setsid();
		if (!strcmp(how, "double_fork") && fork())
			_exit(0);
		write_later();
	}
	if (!strcmp(how, "double_fork"))
		CHECK(ended(pid) == 0);
	if (!strcmp(how, "zombie"))
		usleep(10000);
	return done();
}
