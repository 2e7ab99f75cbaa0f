/* What a program can read about itself.
 * @cases maps exe status environ cmdline auxv limits */
#include "../own.h"

#include <sys/auxv.h>

extern char **environ;

static int lines_with(const char *path, const char *word, int show)
{
	char line[4096];
	int n = 0;
	FILE *file = fopen(path, "re");

	MUST(file);
	while (fgets(line, sizeof(line), file))
		if (strstr(line, word)) {
			n++;
			if (show)
				printf("%s", line);
		}
	fclose(file);
	return n;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	char path[4096] = "";

	if (!strcmp(how, "maps")) {	/* no file of anyone else's, and what is there can be found */
		CHECK(lines_with("/proc/self/maps", "[stack]", 0) == 1 && lines_with("/proc/self/maps", "[vdso]", 0) == 1);
		CHECK(lines_with("/proc/self/maps", "itself", 0) > 3 && lines_with("/proc/self/maps", ".so", 0) > 5);
		CHECK(lines_with("/proc/self/maps", "shim", 0) == 0);
	} else if (!strcmp(how, "exe")) {
		CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
		printf("%s %s\n", strrchr(path, '/'), strrchr(program_invocation_name, '/'));
	} else if (!strcmp(how, "status")) {
		lines_with("/proc/self/status", "SigP", 1); /* SigQ counts those of all processes */
		lines_with("/proc/self/status", "SigB", 1);
		lines_with("/proc/self/status", "SigI", 1);
		lines_with("/proc/self/status", "SigC", 1);
		lines_with("/proc/self/status", "Threads", 1);
		lines_with("/proc/self/status", "Seccomp", 1);
	} else if (!strcmp(how, "environ")) {
		for (char **variable = environ; *variable; variable++)
			if (strncmp(*variable, "PWD=", 4) && strncmp(*variable, "OLDPWD=", 7))
				printf("%s\n", strncmp(*variable, "HOME", 4) && strncmp(*variable, "XDG", 3) ? *variable : "");
	} else if (!strcmp(how, "cmdline")) {
		int fd = open("/proc/self/cmdline", O_RDONLY);

		CHECK(read(fd, path, sizeof(path)) > 0 && !strcmp(path, argv[0]));
		close(fd);
	} else if (!strcmp(how, "auxv")) {
		printf("%lx %lx %lu %lu\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2), getauxval(AT_SECURE),
		       getauxval(AT_PHNUM));
	} else {
		lines_with("/proc/self/limits", "Max", 1);
	}
	return done();
}
