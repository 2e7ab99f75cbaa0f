/* exec that fails leaves the program as it was. */
#include "../own.h"

#include <sys/stat.h>

extern char **environ;

static void try(const char *path)
{
	char *arguments[] = { "x", NULL };

	CHECK(execve(path, arguments, environ) == -1);
	printf("%s: %s, work %d\n", path, strerror(errno), work(100));
}

int main(void)
{
	char *huge = malloc(4 << 20), *arguments[] = { "x", huge, NULL };
	int fd = open("not-a-program", O_CREAT | O_WRONLY, 0755);

	MUST(write(fd, "neither script nor ELF\n", 23) == 23);
	try("not-a-program");	/* still open for writing */
	close(fd);
	try("not-a-program");
	try("/nonexistent");
	try("/etc/passwd");
	try("/");
	fd = open("truncated", O_CREAT | O_WRONLY, 0755);
	MUST(write(fd, "\177ELF\2\1\1", 7) == 7);
	close(fd);
	try("truncated");
	memset(huge, 'x', (4 << 20) - 1);
	huge[(4 << 20) - 1] = 0;
	CHECK(execve("/bin/true", arguments, environ) == -1 && errno == E2BIG);
	return done();
}
