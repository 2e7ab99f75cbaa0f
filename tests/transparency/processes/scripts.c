/* Scripts: #! of a shell, of this program, of another script; without #!; shells within shells.
 * @cases shell self nested bare shells env */
#include "../own.h"

#include <libgen.h>
#include <sys/stat.h>

static void script(const char *name, const char *interpreter, const char *body)
{
	FILE *file = fopen(name, "we");

	MUST(file);
	fprintf(file, "%s%s\n%s", *interpreter ? "#!" : "", interpreter, body);
	fclose(file);
	MUST(chmod(name, 0755) == 0);
}

static void run(const char *name)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp(name, name, "one", "two words", (char *)NULL);
		_exit(126);
	}
	printf("ended %d\n", ended(pid));
}

int main(int argc, char **argv)
{
	char self[4096] = "", line[5000];
	const char *how = argv[1];

	setvbuf(stdout, NULL, _IONBF, 0);
	MUST(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (argc > 2) {		/* as an interpreter: option, script, its arguments */
		for (int i = 1; i < argc; i++)
			printf("interpreter %s\n", argv[i]);
		return 11;
	}
	if (!strcmp(how, "shell")) {
		script("it", "/bin/sh -e", "echo \"$# $2\"; false; echo no\n");
		run("./it");
	} else if (!strcmp(how, "self")) {
		script("it", self, "nothing\n");
		run("./it");
	} else if (!strcmp(how, "nested")) {
		script("inner", "/bin/sh", "echo \"inner $*\"; exec cat \"$1\"\n");
		MUST(realpath("inner", self));
		script("it", self, "outer\n");
		run("./it");
	} else if (!strcmp(how, "bare")) {
		script("it", "", "echo bare $#; exit 4\n");
		run("./it");
	} else if (!strcmp(how, "env")) {
		script("it", "/usr/bin/env -S sh -u", "echo \"$1\"; kill -TERM $$\n");
		run("./it");
	} else {
		snprintf(line, sizeof(line), "sh -c 'sh -c \"sh -c \\\"echo deep; exit 9\\\"; exit \\$?\"; exit $?'");
		printf("status %d\n", WEXITSTATUS(system(line)));
		printf("status %d\n", WEXITSTATUS(system("(seq 1000 | grep 7 | wc -l; (exit 3) || echo or) 2>&1; "
							 "for i in 1 2 3; do /bin/echo $i & wait $!; done; exit 2")));
	}
	return done();
}
