/* At the limits: of address space, descriptors, file size, CPU time, processes; and without privileges.
 * @cases nofile fsize cpu as as_exec data nproc dumpable privs close_range chroot unshare setuid stack mdwe
 * @status fsize: SIGXFSZ
 * @status cpu: SIGXCPU
 * @partly nofile: memfd_create
 * @partly as as_exec: address space */
#include "../own.h"

#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static void limit(int which, rlim_t to)
{
	MUST(setrlimit(which, &(struct rlimit){ to, to }) == 0);
}

static int run(const char *what)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", what, (char *)NULL);
		_exit(126);
	}
	return pid < 0 ? -errno : ended(pid);
}

static void become_nobody(void)
{
	if (getuid())
		skip("needs root");
	MUST(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	char where[100] = "";

	if (!strcmp(how, "nofile")) {
		limit(RLIMIT_NOFILE, 4);
		CHECK(open("/dev/null", O_RDONLY) == 3 && open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
		CHECK(close(3) == 0);
		limit(RLIMIT_NOFILE, 3);
		printf("%d\n", run("exit 4"));
	} else if (!strcmp(how, "fsize")) {
		int fd = open("large", O_CREAT | O_WRONLY, 0600);

		limit(RLIMIT_FSIZE, 4096);
		for (int i = 0; i < 100; i++)
			CHECK(write(fd, how, 100) == 100 || i >= 40);
	} else if (!strcmp(how, "cpu")) {
		limit(RLIMIT_CORE, 0);
		setrlimit(RLIMIT_CPU, &(struct rlimit){ 1, 5 });
		for (;;)
			work(1000000);
	} else if (!strcmp(how, "as")) {
		limit(RLIMIT_AS, 1ULL << 30);
		CHECK(mmap(NULL, 2ULL << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
		CHECK(mmap(NULL, 256 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	} else if (!strcmp(how, "as_exec")) {
		limit(RLIMIT_AS, 64 << 20);
		printf("%d\n", run("exit 5"));
	} else if (!strcmp(how, "data")) {
		limit(RLIMIT_DATA, 16 << 20);
		CHECK(malloc(64 << 20) == NULL);
		printf("%d\n", run("exit 6"));
	} else if (!strcmp(how, "nproc")) {
		become_nobody();
		limit(RLIMIT_NPROC, 0);
		CHECK(fork() == -1 && errno == EAGAIN);
	} else if (!strcmp(how, "dumpable")) {
		CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
		printf("%d\n", run("exit 8"));
	} else if (!strcmp(how, "privs")) {
		CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		printf("%d\n", run("grep NoNewPrivs /proc/self/status"));
	} else if (!strcmp(how, "close_range")) {
		CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
		CHECK(open("/dev/null", O_RDONLY) == 3 && close(3) == 0);
		printf("%d\n", run("exit 9"));
	} else if (!strcmp(how, "chroot")) {
		if (getuid())
			skip("needs root");
		CHECK(chroot(".") == 0 && chdir("/") == 0 && access("/proc/self", F_OK) == -1);
		CHECK(run("exit 1") == 126 && getcwd(where, sizeof(where)) && !strcmp(where, "/"));
	} else if (!strcmp(how, "unshare")) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS))
			skip("unshare is forbidden");
		printf("%d\n", run("exit $$"));
	} else if (!strcmp(how, "setuid")) {
		become_nobody();
		CHECK(setuid(0) == -1 && geteuid() == 65534);
		printf("%d\n", run("[ $(id -u) = 65534 ]"));
	} else if (!strcmp(how, "stack")) {
		limit(RLIMIT_STACK, 256 << 10);
		printf("%d\n", run("exit 10"));
	} else {
		if (prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0))
			skip("no PR_SET_MDWE");
		CHECK(mmap(NULL, PAGE, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
		printf("%d\n", run("exit 11"));
	}
	printf("work %d\n", work(1000));
	return done();
}
