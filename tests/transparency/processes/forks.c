/* Forks without exec: a chain, many at once, from a thread, with all that was set before.
 * @cases chain many twins buffers */
#include "../own.h"

#include <sys/wait.h>

static int chain(int depth)
{
	pid_t pid;

	if (depth == 0)
		return work(100);
	pid = fork();
	if (pid == 0)
		_exit(chain(depth - 1));
	return 1 + ended(pid);
}

static void many(void)
{
	int sum = 0, status;
	pid_t pid;

	for (int i = 0; i < 40; i++)
		if (fork() == 0)
			_exit(work(2000) + i);
	while ((pid = wait(&status)) > 0)
		sum += WEXITSTATUS(status);
	printf("sum %d\n", sum);
}

/* Four processes from two forks; each reports through the pipe. */
static void twins(void)
{
	int ends[2], bits = 0, me;
	pid_t top = getpid();

	MUST(pipe(ends) == 0);
	me = fork() ? 1 : 2;
	me *= fork() ? 1 : 4;
	MUST(write(ends[1], &me, sizeof(me)) == sizeof(me));
	while (wait(NULL) > 0)
		;
	if (getpid() != top)
		_exit(0);
	for (int i = 0; i < 4; i++) {
		MUST(read(ends[0], &me, sizeof(me)) == sizeof(me));
		bits |= me;
	}
	close(ends[0]);
	close(ends[1]);
	printf("bits %d\n", bits);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];

	if (!strcmp(how, "chain"))
		printf("chain %d\n", chain(8));
	else if (!strcmp(how, "many"))
		many();
	else if (!strcmp(how, "twins"))
		twins();
	else {
		printf("twice ");
		pid_t pid = fork();
		if (pid == 0)
			exit(0);
		CHECK(ended(pid) == 0);
	}
	return done();
}
