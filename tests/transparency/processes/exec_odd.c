/* exec in its rarer forms: of descriptors, of anonymous files, by a thread, with odd arguments.
 * @cases fexecve memfd execveat thread no_arguments environment */
#include "../own.h"

#include <linux/memfd.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static char *again[] = { "name", "again", "arguments", NULL };
static char *environment[] = { "ONE=1", "TWO=two words", "", NULL };

static int copy_of(const char *path)
{
	int from = open(path, O_RDONLY), to = memfd_create("copy", MFD_CLOEXEC);
	struct stat stat;

	MUST(from >= 0 && to >= 0 && fstat(from, &stat) == 0);
	MUST(sendfile(to, from, NULL, (size_t)stat.st_size) == stat.st_size);
	close(from);
	return to;
}

static void *exec_in_thread(void *unused)
{
	execve("/proc/self/exe", again, environment);
	return unused;
}

static void *compute(void *unused)
{
	for (;;)
		work(1000);
	return unused;
}

int main(int argc, char **argv, char **variables)
{
	const char *how = argc > 1 ? argv[1] : "again";
	pthread_t thread;

	if (!strcmp(how, "again")) {
		for (int i = 0; i < argc; i++)
			printf("argument %s\n", argv[i]);
		for (; *variables; variables++)
			printf("variable %s\n", *variables);
		printf("work %d, pid is tid %d\n", work(100), getpid() == gettid());
		return done();
	}
	if (!strcmp(how, "fexecve"))
		fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), again, environment);
	if (!strcmp(how, "memfd"))
		fexecve(copy_of("/proc/self/exe"), again, environment);
	if (!strcmp(how, "execveat"))
		syscall(SYS_execveat, open("/bin", O_PATH | O_CLOEXEC), "echo", again, environment, 0);
	if (!strcmp(how, "no_arguments"))
		execve("/proc/self/exe", (char *[]){ "", NULL }, environment);
	if (!strcmp(how, "environment"))
		execle("/usr/bin/env", "env", (char *)NULL, environment);
	pthread_create(&thread, NULL, compute, NULL);
	pthread_create(&thread, NULL, exec_in_thread, NULL);
	pthread_join(thread, NULL);
	return 1;
}
