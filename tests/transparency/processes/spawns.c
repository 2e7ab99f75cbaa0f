/* posix_spawn with all that it can do to the child first.
 * @cases actions signals group path missing many */
#include "../own.h"

#include <spawn.h>

extern char **environ;

static posix_spawn_file_actions_t actions;
static posix_spawnattr_t attributes;

static int spawn(char *const *arguments)
{
	pid_t pid = 0;
	int error = posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments, environ);

	return error ? -error : ended(pid);
}

static void set_signals(void)
{
	sigset_t set;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	posix_spawnattr_setsigdefault(&attributes, &set);
	sigaddset(&set, SIGTERM);
	posix_spawnattr_setsigmask(&attributes, &set);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	char *cat[] = { "/bin/cat", NULL }, *status[] = { "/bin/grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", NULL };
	char *group[] = { "/bin/sh", "-c", "set -- $(cat /proc/self/stat); [ $5 = $$ ]", NULL };
	char *path[] = { "expr", "6", "*", "7", NULL }, *missing[] = { "/nonexistent", NULL }, *yes[] = { "true", NULL };

	setvbuf(stdout, NULL, _IONBF, 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	if (!strcmp(how, "actions")) {
		int fd = open("input", O_CREAT | O_WRONLY, 0600);

		CHECK(write(fd, "some input\n", 11) == 11);
		close(fd);
		posix_spawn_file_actions_addopen(&actions, 0, "input", O_RDONLY, 0);
		posix_spawn_file_actions_addopen(&actions, 9, "output", O_CREAT | O_WRONLY, 0600);
		posix_spawn_file_actions_adddup2(&actions, 9, 1);
		posix_spawn_file_actions_addclose(&actions, 9);
		printf("%d\n", spawn(cat));
	} else if (!strcmp(how, "signals")) {
		set_signals();
		printf("%d\n", spawn(status));
	} else if (!strcmp(how, "group")) {
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
		printf("%d\n", spawn(group));
	} else if (!strcmp(how, "path")) {
		printf("%d\n", spawn(path));
	} else if (!strcmp(how, "missing")) {
		printf("%d\n", spawn(missing));
	} else {
		for (int i = 0; i < 10; i++)
			CHECK(spawn(yes) == 0);
	}
	return done();
}
